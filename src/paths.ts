import { existsSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { GwError } from './errors.ts';
import { reasonOf } from './write-fault.ts';

/** Where gw keeps its state. Everything under `home` is readable by its owner only (0700, files 0600). */
export interface Paths {
  home: string;
  database: string;
  config: string;
  /** Provider keys that the user stored. */
  credentials: string;
  /** The CLI's own key of each project, made on demand for `gw env` and `gw run`. */
  cliKeys: string;
  /** Held exclusively by the running daemon. */
  lock: string;
  /** What the running daemon says of itself: information, not truth. */
  daemonInfo: string;
  log: string;
}

type Environment = Record<string, string | undefined>;

/** The paths for an environment: `$GW_HOME`, else the platform's data directory; `$GW_DATABASE` moves the database. */
export function resolvePaths(env: Environment, platform: NodeJS.Platform = process.platform): Paths {
  const home = resolve(env.GW_HOME || defaultHome(env, platform));
  const database = env.GW_DATABASE;
  return {
    home,
    database: database ? (isAbsolute(database) ? database : resolve(database)) : join(home, 'gw.db'),
    config: join(home, 'config.json'),
    credentials: join(home, 'credentials.json'),
    cliKeys: join(home, 'cli-keys.json'),
    lock: join(home, 'daemon.lock'),
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

/** Makes the state directory. Throws what to do where it cannot be made. */
export function makeHome({ home }: Pick<Paths, 'home'>): void {
  try {
    makeDirectory(home);
  } catch (error) {
    throw new GwError(
      `cannot make gw's directory ${home}: ${reasonOf(home, error).why}. To use another: export GW_HOME=DIRECTORY`,
      { status: 503, type: 'api_error', code: 'storage_unavailable', cause: error },
    );
  }
}

/**
 * Makes a directory (0700) and those that it is in. Not by mkdir's own `recursive`, which in Node never ends where the
 * system denies a directory's being there, as in /proc.
 */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  // A drive that is not there is its own parent.
  if (parent !== path && !existsSync(parent)) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === 'EEXIST' && statSync(path).isDirectory();
    if (!isThere) throw error;
  }
}
