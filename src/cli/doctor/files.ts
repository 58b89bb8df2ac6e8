import { accessSync, chmodSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathsOthersMayWrite } from '../../config/home-access.ts';
import { readSecrets } from '../../config/secrets.ts';
import { messageOf } from '../../errors.ts';
import type { Paths } from '../../paths.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { type Reason, reasonOf } from '../../write-fault.ts';
import { broken, type Finding, ok, warning } from './check.ts';

const LOW_DISK_BYTES = 200 * 1000 * 1000;
const OTHERS = 0o077;

/** Checks that only the owner can read the state directory and its files. */
export function checkPermissions(paths: Paths): Finding[] {
  if (!existsSync(paths.home)) return [warning('state', `${paths.home} does not exist yet`, 'gw start')];
  const files = readdirSync(paths.home).map((name) => join(paths.home, name));
  const open = [paths.home, paths.database, ...files].filter(isOpenToOthers);
  const refusal = writeRefusal(paths.home);
  if (refusal)
    return [
      broken('permissions', `gw cannot write to ${paths.home}: ${refusal.why}`, refusal.mend ?? 'see: mount'),
    ];
  const replaceable = pathsOthersMayWrite(paths).filter(({ path }) => !open.includes(path));
  if (process.platform === 'win32' || open.length + replaceable.length === 0) {
    return [ok('permissions', `only you can open ${paths.home}`)];
  }
  return [
    ...replaceable.map(({ message, mend }) => broken('permissions', message, mend)),
    ...[...new Set(open)].map((path) => ({
      ...broken('permissions', `other users can open ${path}`, 'gw doctor --fix'),
      fix: () => chmodSync(path, statSync(path).mode & ~OTHERS),
    })),
  ];
}

function writeRefusal(folder: string): Reason | undefined {
  try {
    accessSync(folder, constants.W_OK);
    return undefined;
  } catch (error) {
    return reasonOf(join(folder, 'gw.db'), error);
  }
}

function isOpenToOthers(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & OTHERS) !== 0;
}

/** Checks that the key files can be read. Shows nothing of their contents. */
export function checkKeyFiles({ credentials, cliKeys }: Paths): Finding[] {
  return [credentials, cliKeys].map((file) => {
    try {
      return ok('key files', `${file}: ${plural(Object.keys(readSecrets(file)).length, 'key')}`);
    } catch (error) {
      return broken(
        'key files',
        messageOf(error).replace(/ Run: .*/, ''),
        `mv '${file}' '${file}.broken', then add the keys again`,
      );
    }
  });
}

export function checkDisk({ home }: Paths): Finding {
  try {
    const { bavail, bsize } = statfsSync(home);
    const free = bavail * bsize;
    if (free >= LOW_DISK_BYTES) return ok('disk', `${bytes(free)} free`);
    return warning(
      'disk',
      `only ${bytes(free)} free: gw refuses requests that it cannot record`,
      'free some space',
    );
  } catch (error) {
    return warning('disk', `cannot tell how much space is free: ${messageOf(error)}`, 'gw start');
  }
}
