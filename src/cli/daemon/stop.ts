import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../daemon-info.ts';
import type { Context } from '../context.ts';
import { CliError } from '../exit.ts';
import { findDaemon } from './find.ts';

/** A little more than the 30 s that the daemon gives running requests to finish. */
const DRAIN_LIMIT_MS = 32_000;
const KILL_LIMIT_MS = 5_000;
const POLL_MS = 40;

/** Stops the daemon and waits until it has exited. Returns its pid, undefined if none ran. `now` skips draining. */
export async function stopDaemon(context: Context, { now = false } = {}): Promise<number | undefined> {
  const state = await findDaemon(context);
  if (state.kind === 'stopped') return undefined;
  const pid = state.kind === 'running' ? state.daemon.pid : state.pid;
  signal(pid);
  if (!now && (await isGone(context, pid, DRAIN_LIMIT_MS))) return pid;
  // The second signal skips draining.
  signal(pid);
  if (await isGone(context, pid, KILL_LIMIT_MS)) return pid;
  throw new CliError(`gw (pid ${pid}) did not stop. To force it: kill -9 ${pid}`);
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function isGone(context: Context, pid: number, limitMs: number): Promise<boolean> {
  const deadline = context.clock.monotonic() + limitMs;
  while (isAlive(pid)) {
    if (context.clock.monotonic() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
