import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { exposureOf } from '../../config/exposure.ts';
import { ignoredMessage } from '../../config/retired-settings.ts';
import { DEFINITIONS, type ScalarKey } from '../../config/settings.ts';
import { readTls } from '../../config/tls.ts';
import { messageOf } from '../../errors.ts';
import { makeHome } from '../../paths.ts';
import { writing } from '../../write-fault.ts';
import { type Context, note } from '../context.ts';
import { CliError } from '../exit.ts';
import { type Flags, readSettings } from '../settings.ts';
import { type Daemon, findDaemon, isLocked } from './find.ts';
import { tailOf } from './log-tail.ts';
import { portInUseMessage } from './port-owner.ts';

const START_LIMIT_MS = 30_000;
const POLL_MS = 40;

export interface StartResult {
  daemon: Daemon;
  /** Whether the daemon was already running. */
  already: boolean;
}

/** Starts the daemon in the background, unless it is already running, and waits until it answers. */
export async function startDaemon(context: Context, flags: Flags = {}): Promise<StartResult> {
  const { settings, retired } = readSettings(context, flags);
  const { host, port } = settings;
  const before = await findDaemon(context);
  if (before.kind === 'running') return { daemon: before.daemon, already: true };
  if (before.kind === 'silent')
    return { daemon: await untilAnswering(context, () => undefined), already: true };
  readTls(settings, context.clock.now());
  await refuseTakenPort(host, port);
  const started = await launch(context, flags);
  if (retired.length > 0) note(context, `warning: ${ignoredMessage(retired, context.paths.config)}`);
  const exposure = exposureOf(settings, started.daemon.port);
  if (exposure !== undefined) note(context, exposure);
  return started;
}

async function launch(context: Context, flags: Flags): Promise<StartResult> {
  const { log } = context.paths;
  makeHome(context.paths);
  const output = writing(log, () => openSync(log, 'a', 0o600));
  const logStart = statSync(log).size;
  const child = spawnDaemon(context, flags, output);
  closeSync(output);
  let exitReason: string | undefined;
  child.on('error', (error) => {
    exitReason = messageOf(error);
  });
  child.on('exit', (code, signal) => {
    exitReason = signal === null ? `exit code ${code}` : `signal ${signal}`;
  });
  child.unref();
  const daemon = await untilAnswering(context, () =>
    exitReason === undefined ? undefined : `gw did not start (${exitReason}):\n${reasonIn(log, logStart)}`,
  );
  const already = daemon.pid !== child.pid;
  // Another `gw start` was faster. Kill this child, or it would take over when the other daemon stops.
  if (already) child.kill();
  return { daemon, already };
}

function spawnDaemon({ program, paths, env }: Context, flags: Flags, output: number): ChildProcess {
  const options = Object.entries(flags).map(
    ([key, value]) => `--${DEFINITIONS[key as ScalarKey].flag}=${value}`,
  );
  return spawn(process.execPath, [program, 'serve', '--background', ...options], {
    // The caller's directory could not be unmounted while the daemon runs in it.
    cwd: paths.home,
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...env, GW_HOME: paths.home, GW_DATABASE: paths.database },
  });
}

/** Why the daemon ended: its messages for people, or else the end of its log. */
function reasonIn(log: string, from: number): string {
  const lines = tailOf(log, 15, from);
  const messages = lines.filter((line) => line.startsWith('gw: '));
  return (messages.length > 0 ? messages : lines).join('\n');
}

/** Polls until the daemon answers. `failure` returns a message once the daemon cannot answer anymore. */
async function untilAnswering(context: Context, failure: () => string | undefined): Promise<Daemon> {
  const deadline = context.clock.monotonic() + START_LIMIT_MS;
  while (context.clock.monotonic() < deadline) {
    const state = await findDaemon(context);
    if (state.kind === 'running') return state.daemon;
    const message = failure();
    // If the lock is held, another `gw start` was faster and its daemon is about to answer.
    if (message !== undefined && !(await isLocked(context.paths.lock))) throw new CliError(message);
    await sleep(POLL_MS);
  }
  throw new CliError(
    `gw did not answer within ${START_LIMIT_MS / 1000} s. See: gw logs   To stop it: gw stop`,
  );
}

/** Throws if another program uses the port. The message says what to do. */
export async function refuseTakenPort(host: string, port: number): Promise<void> {
  if (await isTaken(host, port)) throw new CliError(await portInUseMessage(port));
}

function isTaken(host: string, port: number): Promise<boolean> {
  if (port === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'EADDRINUSE'));
    server.listen({ port, host: host === 'localhost' ? '127.0.0.1' : host }, () =>
      server.close(() => resolve(false)),
    );
  });
}
