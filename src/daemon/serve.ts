import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadSettings } from '../config/load.ts';
import { ignoredMessage } from '../config/retired-settings.ts';
import type { ScalarKey } from '../config/settings.ts';
import { GwError, messageOf } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { makeHome, type Paths } from '../paths.ts';
import { acquireLock, type FileLock } from '../store/database/lock.ts';
import { VERSION } from '../version.ts';
import { writing } from '../write-fault.ts';
import { boot, type Daemon } from './boot.ts';
import { createLog } from './log.ts';

export interface ServeOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  flags: Partial<Record<ScalarKey, unknown>>;
  /** Log to the file instead of the terminal. */
  background: boolean;
  /** Gives the commands in a message the name that gw is run by here. */
  pasteable?: (text: string) => string;
}

/**
 * Runs the daemon until SIGTERM or SIGINT, which drain it; a second one exits at once. Resolves when all is settled
 * and closed. Throws what a person should read when it can't start.
 */
export async function serve({ paths, env, flags, background, pasteable }: ServeOptions): Promise<void> {
  makeHome(paths);
  const lock = await takeLock(paths);
  const { settings, retired } = loadSettings({ file: paths.config, env, flags });
  const log = createLog({ file: background ? paths.log : undefined, level: settings['log.level'] });
  let daemon: Daemon;
  try {
    daemon = await boot({ paths, env, flags, log, pasteable });
  } catch (error) {
    log.error({ error: messageOf(error) }, 'could not start');
    lock.release();
    throw portError(error, settings.port) ?? error;
  }
  try {
    writeInfo(paths, daemon, flags);
  } catch (error) {
    // No command would find it.
    await daemon.stop();
    lock.release();
    throw error;
  }
  log.info(
    { port: daemon.port, pid: process.pid, instance: daemon.instanceId, version: VERSION },
    'listening',
  );
  if (retired.length > 0) log.warn(ignoredMessage(retired, paths.config));
  if (!isLoopback(settings.host)) log.warn({ host: settings.host }, 'other machines can reach gw');
  process.on('unhandledRejection', (error) => log.error({ error: messageOf(error) }, 'unhandled rejection'));
  const signal = await firstSignal();
  log.info({ signal }, 'draining');
  await daemon.stop();
  rmSync(paths.daemonInfo, { force: true });
  log.info('stopped');
  lock.release();
}

const LOCK_TRIES = 10;
const LOCK_PAUSE_MS = 100;

/** Another gw may be looking whether this one lives, which takes the lock for an instant. */
async function takeLock(paths: Paths): Promise<FileLock> {
  for (let i = 0; i < LOCK_TRIES; i++) {
    const lock = acquireLock(paths.lock);
    if (lock) return lock;
    await sleep(LOCK_PAUSE_MS);
  }
  throw new GwError(`a gw daemon is running already in ${paths.home}. See: gw status`, {
    status: 503,
    type: 'api_error',
    code: 'already_running',
  });
}

/** Information for people and commands, whole or not there; the truth is `/health` with the same instance id. */
function writeInfo(
  paths: Paths,
  { instanceId, port, host, startedAt }: Daemon,
  flags: ServeOptions['flags'],
): void {
  const info = { instanceId, pid: process.pid, port, host, startedAt, version: VERSION, flags };
  const written = `${paths.daemonInfo}.new`;
  writing(paths.daemonInfo, () => {
    writeFileSync(written, `${JSON.stringify(info)}\n`, { mode: 0o600 });
    renameSync(written, paths.daemonInfo);
  });
}

function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (asked) process.exit(1);
      asked = true;
      resolve(signal);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  });
}

function portError(error: unknown, port: number): GwError | undefined {
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return undefined;
  const why = code === 'EADDRINUSE' ? 'is in use' : 'may not be used by you';
  return new GwError(`port ${port} ${why}. Try: gw start --port ${port + 1}`, {
    status: 503,
    type: 'api_error',
    code: code === 'EADDRINUSE' ? 'port_in_use' : 'port_forbidden',
    cause: error,
  });
}
