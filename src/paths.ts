import { existsSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { unavailable } from './errors.ts';
import { reasonOf } from './write-fault.ts';

type Environment = Record<string, string | undefined>;

/** The paths of gw's state. Everything under `home` is readable by its owner only (0700, files 0600). */
export type Paths = ReturnType<typeof resolvePaths>;

/** The paths for an environment: `$GW_HOME`, or the platform's data directory. `$GW_DATABASE` moves the database. */
export function resolvePaths(env: Environment, platform: NodeJS.Platform = process.platform) {
  const home = resolve(env.GW_HOME || defaultHome(env, platform));
  const database = env.GW_DATABASE;
  return {
    home,
    database: database ? (isAbsolute(database) ? database : resolve(database)) : join(home, 'gw.db'),
    config: join(home, 'config.json'),
    /** Provider keys that the user stored. */
    credentials: join(home, 'credentials.json'),
    /** The CLI's own key of each project, created on demand by `gw env` and `gw run`. */
    cliKeys: join(home, 'cli-keys.json'),
    /** URL and key of `gw login`. */
    login: join(home, 'login.json'),
    /** Agent settings that `gw connect` wrote, and the values they replaced. */
    connections: join(home, 'connections.json'),
    /** Prices downloaded by `gw prices update`. */
    prices: join(home, 'prices.json'),
    /** What `gw top` remembers of its last run. */
    dashboard: join(home, 'dashboard.json'),
    /** Folder of kept request bodies (`requests.keep_bodies`). */
    bodies: join(home, 'bodies'),
    /** Folder of the answers that are kept for replays (`replay.ttl`). */
    replays: join(home, 'replays'),
    /** Locked exclusively by the running daemon. */
    lock: join(home, 'daemon.lock'),
    /** The running daemon's pid and address. May be stale: only `lock` proves that a daemon runs. */
    daemonInfo: join(home, 'daemon.json'),
    log: join(home, 'gw.log'),
  };
}

function defaultHome(env: Environment, platform: NodeJS.Platform): string {
  const home = env.HOME || homedir();
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'gw');
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'gw');
  return join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'gw');
}

/** Creates the state directory. Throws a GwError with the next step if that fails. */
export function makeHome({ home }: Pick<Paths, 'home'>): void {
  try {
    makeDirectory(home);
  } catch (error) {
    const message = `cannot make gw's directory ${home}: ${reasonOf(home, error).why}`;
    throw unavailable(`${message}. To use another: export GW_HOME=DIRECTORY`, 'storage_unavailable', error);
  }
}

/**
 * Creates a directory (0700) and its parents. Avoids mkdir's `recursive`: in Node it never returns for paths such as
 * those in /proc, where creating a directory fails with ENOENT.
 */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  // The root of a missing drive is its own parent.
  if (parent !== path && !existsSync(parent)) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const exists = (error as NodeJS.ErrnoException).code === 'EEXIST' && statSync(path).isDirectory();
    if (!exists) throw error;
  }
}
