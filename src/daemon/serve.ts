import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { exposureOf } from '../config/exposure.ts';
import { loadSettings } from '../config/load.ts';
import { ignoredMessage } from '../config/retired-settings.ts';
import type { ScalarKey } from '../config/settings.ts';
import { GwError, messageOf } from '../errors.ts';
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
  /** Logs to the file instead of the terminal. */
  background: boolean;
  /** Rewrites the commands in a message to the name by which gw was run. */
  pasteable?: (text: string) => string;
}

/**
 * Runs the daemon until SIGTERM or SIGINT, which drain it; a second signal exits at once. Resolves when everything is
 * settled and closed. If the daemon can't start, throws an error whose message is for the user.
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
    // Without the file, no command would find the daemon.
    await daemon.stop();
    lock.release();
    throw error;
  }
  log.info(
    { port: daemon.port, pid: process.pid, instance: daemon.instanceId, version: VERSION },
    'listening',
  );
  if (retired.length > 0) log.warn(ignoredMessage(retired, paths.config));
  const exposure = exposureOf(settings, daemon.port);
  if (exposure !== undefined) log.warn(pasteable?.(exposure) ?? exposure);
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

/** Retries, since a gw that checks whether a daemon is alive takes the lock for an instant. */
async function takeLock(paths: Paths): Promise<FileLock> {
  for (let i = 0; i < LOCK_TRIES; i++) {
    const lock = acquireLock(paths.lock);
    if (lock) return lock;
    await sleep(LOCK_PAUSE_MS);
  }
  throw new GwError(`a gw daemon is already running in ${paths.home}. See: gw status`, {
    status: 503,
    type: 'api_error',
    code: 'already_running',
  });
}

/**
 * Writes the address of the daemon for people and commands, atomically. It may be out of date: only a `/health` with
 * the same instance id proves that the daemon runs.
 */
function writeInfo(
  paths: Paths,
  { instanceId, port, host, tls, startedAt }: Daemon,
  flags: ServeOptions['flags'],
): void {
  const info = { instanceId, pid: process.pid, port, host, tls, startedAt, version: VERSION, flags };
  const temporary = `${paths.daemonInfo}.new`;
  writing(paths.daemonInfo, () => {
    writeFileSync(temporary, `${JSON.stringify(info)}\n`, { mode: 0o600 });
    renameSync(temporary, paths.daemonInfo);
  });
}

function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let received = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (received) process.exit(1);
      received = true;
      resolve(signal);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onSignal);
  });
}

function portError(error: unknown, port: number): GwError | undefined {
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return undefined;
  const reason = code === 'EADDRINUSE' ? 'is in use' : 'needs privileges that you do not have';
  return new GwError(`port ${port} ${reason}. Try: gw start --port ${port + 1}`, {
    status: 503,
    type: 'api_error',
    code: code === 'EADDRINUSE' ? 'port_in_use' : 'port_forbidden',
    cause: error,
  });
}
