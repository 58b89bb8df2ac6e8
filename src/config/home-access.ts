import { realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orElse } from '../errors.ts';
import type { Paths } from '../paths.ts';
import { shellQuoted } from '../shell-quoted.ts';
import { SettingError } from './setting-error.ts';

const OTHERS_WRITE = 0o022;
const OTHERS_ENTER = 0o011;
const STICKY = 0o1000;

/**
 * Finds paths that other users could change: gw's directory, its files, and the parents through which the directory
 * could be replaced. Windows has no such modes.
 */
export function pathsOthersMayWrite(paths: Paths, user = process.getuid?.()) {
  if (user === undefined) return [];
  const { home } = paths;
  const files = [
    paths.config,
    paths.credentials,
    paths.cliKeys,
    paths.login,
    paths.lock,
    join(home, 'gw.db'),
  ];
  const realHome = orElse(() => realpathSync(home), home);
  const parents = [...new Set([...parentsOf(home), ...parentsOf(realHome)])];
  return [
    ...[home, ...files].map((path) => openPath(path, user)),
    // A directory with the sticky bit, such as /tmp, lets only the owner of an entry replace it.
    ...parents.map((path) => openPath(path, user, STICKY)),
  ].filter((each) => each !== undefined);
}

/** Throws SettingError if other users may write to gw's directory, which contains keys and caps. */
export function refuseInsecureHome(paths: Paths): void {
  const [found] = pathsOthersMayWrite(paths);
  if (!found) return;
  throw new SettingError(
    `${found.message}, so they could change gw's keys and caps. Run: ${found.mend}   If that is meant to be, as on a volume or a Windows drive, add: --insecure-home`,
  );
}

function openPath(path: string, user: number, allowed = 0) {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat || stat.mode & allowed) return undefined;
  const quoted = shellQuoted(path);
  if (stat.uid !== user && stat.uid !== 0) {
    return {
      path,
      message: `${path} belongs to another user (uid ${stat.uid})`,
      mend: `sudo chown ${user} ${quoted}`,
    };
  }
  if ((stat.mode & OTHERS_WRITE) === 0) return undefined;
  return { path, message: `other users may write to ${path}`, mend: `chmod go-w ${quoted}` };
}

/** Parents of a directory, nearest first, up to the first that other users can't enter. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  if (parent === path) return [];
  const stat: Stats | undefined = statSync(parent, { throwIfNoEntry: false });
  return stat && (stat.mode & OTHERS_ENTER) === 0 ? [] : [parent, ...parentsOf(parent)];
}
