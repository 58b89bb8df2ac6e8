import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { loadSoundSettings } from '../config/load.ts';
import { ignoredMessage } from '../config/retired-settings.ts';
import { readSecrets } from '../config/secrets.ts';
import type { ScalarKey, Settings } from '../config/settings.ts';
import { exposureOf, readTls, speaksTls } from '../config/tls.ts';
import { isAlive, readDaemonInfo, writeDaemonInfo } from '../daemon-info.ts';
import { type GwError, messageOf, unavailable } from '../errors.ts';
import { makeHome, type Paths } from '../paths.ts';
import { MAX_CALL_MS } from '../pricing/price-dates.ts';
import { createSecretStore } from '../redact.ts';
import type { Listener } from '../server/listen.ts';
import { acquireLock, type FileLock } from '../store/database/lock.ts';
import { isOlder, VERSION } from '../version.ts';
import { boot, type Daemon, listenOn } from './boot.ts';
import { createLog } from './log.ts';

export interface ServeOptions {
  paths: Paths;
  env: Record<string, string | undefined>;
  flags: Partial<Record<ScalarKey, unknown>>;
  /** Logs to the file instead of the terminal. */
  background: boolean;
  /** Whether the platform's service manager runs it. */
  service?: boolean;
  /** Rewrites the commands in a message to the name under which gw was started. */
  pasteable?: (text: string) => string;
  /** Pid of this home's current daemon, which drains and hands its port over to this one. */
  replaces?: number | undefined;
}

/** Tunes V8 for a gateway. V8 warns about unknown flags, so they are set only on releases known to have them. */
function tuneEngine(): void {
  const [major] = process.versions.node.split('.');
  if (Number(major) > 24) return;
  // By default, a full collection runs after each 8 MB of growth, which 80 prompts of 100 kB cause although nothing
  // retains them. If the heap may grow to three times its size first, such prompts take half the CPU.
  setFlagsFromString('--heap-growing-percent=200');
  // By default, eight idle seconds lead to a collection that also frees objects that compiled code refers to, and the
  // code with them: the next 20,000 requests take twice the CPU. `createMemoryRelease` collects after idle minutes
  // instead.
  setFlagsFromString('--no-memory-reducer');
}

/**
 * Runs the daemon until SIGTERM or SIGINT, which drain it; a second signal exits at once. On a successor's signal it
 * drains without a time limit. Resolves when everything is settled and closed. If the daemon can't start, throws an
 * error whose message is for the user.
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { paths, env, flags, background, pasteable, replaces, service = false } = options;
  tuneEngine();
  makeHome(paths);
  const { settings, retired } = loadSoundSettings({ file: paths.config, env, flags });
  // Detects unreadable keys before another daemon is replaced.
  readSecrets(paths.credentials);
  const listener = replaces === undefined ? undefined : await takePort(replaces, options, settings);
  const lock = await takeLock(paths, replaces).catch((error) => {
    abandon(listener);
    throw error;
  });
  const secrets = createSecretStore();
  const log = createLog({ file: background ? paths.log : undefined, level: settings['log.level'], secrets });
  let daemon: Daemon;
  let onLost = (_found: string) => {};
  try {
    const onDatabaseLost = (found: string) => onLost(found);
    daemon = await boot({ paths, env, flags, log, secrets, pasteable, listener, onDatabaseLost });
  } catch (error) {
    log.error({ error: messageOf(error) }, 'could not start');
    abandon(listener);
    lock.release();
    throw portError(error, settings.port) ?? error;
  }
  // Before others can know of it: a daemon that drains on no signal would leave its registration behind.
  const signalled = firstSignal();
  try {
    writeDaemonInfo(paths, { ...daemon, flags, service });
  } catch (error) {
    // Without this file, no command would find the daemon.
    await daemon.stop();
    lock.release();
    throw error;
  }
  onLost = (found) => {
    try {
      if (readDaemonInfo(paths).pid === process.pid)
        writeDaemonInfo(paths, { ...daemon, flags, service, databaseLoss: found });
    } catch {
      // The directory may be gone with the database.
    }
  };
  log.info(
    { port: daemon.port, pid: process.pid, instance: daemon.instanceId, version: VERSION },
    'listening',
  );
  if (retired.length > 0) log.warn(ignoredMessage(retired, paths.config));
  const exposure = exposureOf(settings, daemon.port);
  if (exposure !== undefined) log.warn(pasteable?.(exposure) ?? exposure);
  process.on('unhandledRejection', (error) => log.error({ error: messageOf(error) }, 'unhandled rejection'));
  const signal = await signalled;
  log.info({ signal }, 'draining');
  const hasSuccessor = signal === SUCCESSOR_SIGNAL;
  await daemon.stop(hasSuccessor ? { graceMs: MAX_CALL_MS, hasSuccessor } : {});
  // A successor writes its own file over this one at any time.
  if (!hasSuccessor && readDaemonInfo(paths).pid === process.pid) rmSync(paths.daemonInfo, { force: true });
  log.info('stopped');
  lock.release();
}

/** Closes a listener that has served nobody, which would keep the process alive. */
function abandon(listener: Listener | undefined): void {
  void listener?.close();
  listener?.cut();
}

const LOCK_TRIES = 10;
const LOCK_PAUSE_MS = 100;

/**
 * Retries, because a gw that checks for a running daemon takes the lock for an instant. Also waits while the replaced
 * daemon has running requests.
 */
async function takeLock(paths: Paths, replaces: number | undefined): Promise<FileLock> {
  for (let i = 0; i < LOCK_TRIES; i++) {
    const lock = acquireLock(paths.lock);
    if (lock) return lock;
    await sleep(LOCK_PAUSE_MS);
    if (replaces !== undefined && isAlive(replaces)) i = 0;
  }
  throw unavailable(`a gw daemon is already running in ${paths.home}. See: gw status`, 'already_running');
}

/** Makes a daemon drain without a time limit. Kills versions before 0.2.0. */
const SUCCESSOR_SIGNAL = 'SIGUSR2';
const PORT_PAUSE_MS = 5;
const PORT_LIMIT_MS = 10_000;

/**
 * Makes the daemon `pid` release its port and drain, and listens there instead: clients stay able to connect, and their
 * requests wait until this daemon serves them. Anything that would prevent this daemon's start is detected before the
 * other is signalled.
 */
async function takePort(pid: number, { paths, flags }: ServeOptions, settings: Settings): Promise<Listener> {
  const { host, port } = settings;
  const tls = speaksTls(settings);
  readTls(settings, Date.now());
  const { version = '' } = readDaemonInfo(paths);
  process.kill(pid, isOlder(version, '0.2.0') ? 'SIGTERM' : SUCCESSOR_SIGNAL);
  const deadline = performance.now() + PORT_LIMIT_MS;
  for (;;) {
    try {
      const listener = await listenOn(settings, Date.now());
      writeDaemonInfo(paths, { port: listener.port, host, tls, flags });
      return listener;
    } catch (error) {
      const failure = portError(error, port);
      if (failure?.code !== 'port_in_use' || performance.now() > deadline) throw failure ?? error;
      await sleep(PORT_PAUSE_MS);
    }
  }
}

function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let received = false;
    const onSignal = (signal: NodeJS.Signals) => {
      if (received) process.exit(1);
      received = true;
      resolve(signal);
    };
    for (const signal of ['SIGTERM', 'SIGINT', SUCCESSOR_SIGNAL] as const) process.on(signal, onSignal);
  });
}

function portError(error: unknown, port: number): GwError | undefined {
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return undefined;
  const isUsed = code === 'EADDRINUSE';
  const reason = isUsed ? 'is in use' : 'needs privileges that you do not have';
  const message = `port ${port} ${reason}. Try: gw start --port ${port + 1}`;
  return unavailable(message, isUsed ? 'port_in_use' : 'port_forbidden', error);
}
