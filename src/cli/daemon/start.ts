import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { refuseInsecureHome } from '../../config/home-access.ts';
import { ignoredMessage } from '../../config/retired-settings.ts';
import { DEFINITIONS, type ScalarKey } from '../../config/settings.ts';
import { exposureOf, readTls } from '../../config/tls.ts';
import { isAlive, readDaemonInfo } from '../../daemon-info.ts';
import { messageOf } from '../../errors.ts';
import { makeHome } from '../../paths.ts';
import { createRouterStateStore } from '../../store/router/router-state.ts';
import { isOlder } from '../../version.ts';
import { writing } from '../../write-fault.ts';
import { type Context, note } from '../context.ts';
import { CliError } from '../exit.ts';
import { knownProviders } from '../known-providers.ts';
import { abortingSqlite } from '../missing-sqlite.ts';
import { installedService, runAll } from '../service/manager.ts';
import { type Flags, readSettings, soundSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { type Daemon, daemonFlags, findDaemon, isLocked } from './find.ts';
import { tailOf } from './log-tail.ts';
import { portInUseMessage } from './port-owner.ts';

const START_LIMIT_MS = 30_000;
const POLL_MS = 40;
/** When a person is told what gw waits for. */
const WAIT_HINT_MS = 2_000;

interface StartResult {
  daemon: Daemon;
  /** Whether the daemon was already running. */
  already: boolean;
}

interface HomeOptions {
  /** Starts although other users may write to the state directory. */
  insecureHome?: boolean | undefined;
}

/**
 * Starts the daemon in the background, unless it is already running, and waits until it answers. One of an older version
 * is replaced.
 */
export async function startDaemon(
  context: Context,
  flags: Flags = {},
  { insecureHome }: HomeOptions = {},
): Promise<StartResult> {
  const before = await findDaemon(context);
  if (before.kind === 'running') {
    const { daemon } = before;
    if (!isOlder(daemon.version, context.version)) return { daemon, already: true };
    const successor = await replaceDaemon(
      context,
      daemon,
      { ...daemonFlags(context), ...flags },
      { insecureHome },
    );
    note(context, `gw ${context.version} took over from gw ${daemon.version}.`);
    return { daemon: successor, already: false };
  }
  if (before.kind === 'silent')
    return { daemon: await untilAnswering(context, () => undefined), already: true };
  const { settings, retired } = soundSettings(context, flags);
  const { host, port } = settings;
  readTls(settings, context.clock.now());
  if (!insecureHome) refuseInsecureHome(context.paths);
  await refuseTakenPort(host, port);
  const started = await launch(context, flags, { insecureHome });
  if (retired.length > 0) note(context, `warning: ${ignoredMessage(retired, context.paths.config)}`);
  const aborting = abortingSqlite(context);
  if (aborting) note(context, `warning: ${aborting.why}. Run: ${aborting.mend}`);
  const exposure = exposureOf(settings, started.daemon.port);
  if (exposure !== undefined) note(context, exposure);
  await noteMissingProviders(context);
  return started;
}

/**
 * Starts a daemon that takes the port of the running one, and waits until it answers, which is when the requests of the
 * other have ended. No request is cut or refused meanwhile. A port that any free one may stand for stays the same.
 */
export async function replaceDaemon(
  context: Context,
  old: Daemon,
  flags: Flags,
  { insecureHome }: HomeOptions = {},
): Promise<Daemon> {
  if (readDaemonInfo(context.paths).service) {
    const service = installedService(context);
    if (service) {
      await runAll(context, service.restart);
      return untilAnswering(context, () => undefined, old);
    }
  }
  const { settings } = soundSettings(context, flags);
  const port = settings.port === 0 ? { port: `${old.port}` } : {};
  const { daemon } = await launch(context, { ...flags, ...port }, { old, insecureHome });
  await noteMissingProviders(context);
  return daemon;
}

interface LaunchOptions extends HomeOptions {
  /** The daemon to replace. */
  old?: Daemon;
}

async function launch(context: Context, flags: Flags, options: LaunchOptions): Promise<StartResult> {
  const { old, insecureHome } = options;
  const isPlain = Object.keys(flags).length === 0 && !insecureHome;
  const service = isPlain ? installedService(context) : undefined;
  if (service && !old) {
    await runAll(context, service.start);
    return { daemon: await untilAnswering(context, () => undefined), already: false };
  }
  const { log } = context.paths;
  makeHome(context.paths);
  const output = writing(log, () => openSync(log, 'a', 0o600));
  const logStart = statSync(log).size;
  const child = spawnDaemon(context, flags, { ...options, output });
  closeSync(output);
  let exitReason: string | undefined;
  child.on('error', (error) => {
    exitReason = messageOf(error);
  });
  child.on('exit', (code, signal) => {
    exitReason = signal === null ? `exit code ${code}` : `signal ${signal}`;
  });
  child.unref();
  const failure = () =>
    exitReason === undefined ? undefined : `gw did not start (${exitReason}):\n${reasonIn(log, logStart)}`;
  const daemon = await untilAnswering(context, failure, old);
  const already = daemon.pid !== child.pid;
  // Another `gw start` was faster. Kill this child, or it would take over when the other daemon stops.
  if (already) child.kill();
  return { daemon, already };
}

function spawnDaemon(
  { program, paths, env }: Context,
  flags: Flags,
  { output, old, insecureHome }: LaunchOptions & { output: number },
): ChildProcess {
  const options = Object.entries(flags).map(
    ([key, value]) => `--${DEFINITIONS[key as ScalarKey].flag}=${value}`,
  );
  const replace = old ? [`--replace=${old.pid}`] : [];
  if (insecureHome) options.push('--insecure-home');
  return spawn(process.execPath, [program, 'serve', '--background', ...replace, ...options], {
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

/**
 * Polls until the daemon answers, or another than `old`. `failure` returns a message once the daemon cannot answer
 * anymore.
 */
export async function untilAnswering(
  context: Context,
  failure: () => string | undefined,
  old?: Daemon,
): Promise<Daemon> {
  const { clock } = context;
  let deadline = clock.monotonic() + START_LIMIT_MS;
  /** When the person is told; undefined until the old daemon has left its port. */
  let hintAt: number | undefined;
  while (clock.monotonic() < deadline) {
    const state = await findDaemon(context);
    // The old daemon may have answered before it exited: its successor may not hold the lock yet.
    const isOld = state.kind === 'running' && state.daemon.instance_id === old?.instance_id;
    if (state.kind === 'running' && !isOld && !(old && isAlive(old.pid))) return state.daemon;
    const message = failure();
    // If the lock is held, another `gw start` was faster and its daemon is about to answer.
    if (message !== undefined && (old || !(await isLocked(context.paths.lock)))) throw new CliError(message);
    await sleep(POLL_MS);
    if (!old || !isAlive(old.pid)) continue;
    deadline = clock.monotonic() + START_LIMIT_MS;
    if (state.kind !== 'running') hintAt ??= clock.monotonic() + WAIT_HINT_MS;
    if (hintAt === undefined || clock.monotonic() < hintAt) continue;
    hintAt = Number.POSITIVE_INFINITY;
    note(context, `Waiting for the running requests of gw ${old.version}. To cut them: kill ${old.pid}`);
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

/** A provider and the variable of the environment that its key came from. */
interface Found {
  name: string;
  variable: string;
}

/** Names the providers whose keys the environment had at the last start and has no longer, and keeps those of this one. */
async function noteMissingProviders(context: Context): Promise<void> {
  const registry = knownProviders(context);
  const found = [...registry.providers.values()].flatMap(({ name, keySource }): Found[] =>
    keySource.startsWith('env ') ? [{ name, variable: keySource.slice(4) }] : [],
  );
  const configured = readSettings(context).settings.providers;
  const before = await withStore(context, async (db) => {
    const store = createRouterStateStore(db);
    const last = store.read('environment');
    store.save('environment', found, context.clock.now());
    return Array.isArray(last) ? (last as Found[]) : [];
  });
  for (const { name, variable } of before) {
    if (registry.providers.has(name)) continue;
    // One that was configured then may have been removed since.
    if (context.env[variable] && !Object.hasOwn(configured, name)) continue;
    note(
      context,
      `warning: ${name} was a provider at the last start and is missing now: ${variable} is not set here. To bring it back, set ${variable} and run gw restart; to store its key: gw providers add ${name}`,
    );
  }
}

/** A little more than the 30 s that the daemon gives running requests to finish. */
const DRAIN_LIMIT_MS = 32_000;
const KILL_LIMIT_MS = 5_000;

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
