import { accessSync, chmodSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createCalendar } from '../../calendar.ts';
import { pathsOthersMayWrite } from '../../config/home-access.ts';
import { readSecrets } from '../../config/secrets.ts';
import { messageOf } from '../../errors.ts';
import type { Paths } from '../../paths.ts';
import { type ClockJump, lastClockJump, latestTime } from '../../store/database/set-back.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { createTimeFormat, duration } from '../../terminal/time.ts';
import { type Reason, reasonOf } from '../../write-fault.ts';
import type { Context } from '../context.ts';
import { isOnPath } from '../invocation.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';
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

/** The oldest supported Node, as in package.json. */
const OLDEST_NODE: readonly [number, number] = [20, 19];

export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [wantedMajor, wantedMinor] = OLDEST_NODE;
  const fits = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  if (fits) return ok('node', `Node ${version}`);
  return broken('node', `Node ${version} is older than ${OLDEST_NODE.join('.')}`, 'install a newer Node.js');
}

/** Checks that the native module loads, the part of an installation that can go wrong. */
export async function checkInstall({ version, program }: Context): Promise<Finding> {
  try {
    const { default: Database } = await import('better-sqlite3');
    new Database(':memory:').close();
    return ok('install', `gw ${version} in ${dirname(dirname(program))}`);
  } catch (error) {
    const where = dirname(dirname(program));
    return broken(
      'install',
      `better-sqlite3 does not load: ${messageOf(error)}`,
      `cd ${where} && npm rebuild better-sqlite3`,
    );
  }
}

/** Checks that the shell finds gw, which `eval "$(gw env)"` needs. */
export function checkPath(context: Context): Finding {
  if (isOnPath(context)) return ok('path', 'gw is on the PATH');
  return warning('path', 'gw is not on the PATH', `npm install -g ${dirname(dirname(context.program))}`);
}

const TOLERANCE_MS = 5 * 60_000;
/** How long a jump of the clock is reported. */
const REPORTED_MS = 30 * 86_400_000;

/** Checks that the clock was not set back, and reports jumps that a daemon or a command has noticed. */
export async function checkClock(context: Context): Promise<Finding> {
  const now = context.clock.now();
  const released = statSync(context.program).mtimeMs;
  const { reached, jump } = await withStore(context, async (db) => ({
    reached: latestTime(db),
    jump: lastClockJump(db),
  }));
  const latest = Math.max(reached, released);
  if (latest - now > TOLERANCE_MS) {
    return broken(
      'clock',
      `the clock reads ${new Date(now).toISOString()}, but it has already been ${new Date(latest).toISOString()}`,
      'set the clock (timedatectl set-ntp true)',
    );
  }
  const jumped = jump && Math.abs(now - jump.at) < REPORTED_MS ? `; ${jumpText(jump)}` : '';
  if (jump && jump.ms < 0 && jumped !== '')
    return warning(
      'clock',
      `${new Date(now).toISOString()}${jumped}`,
      'see that it is set by NTP (timedatectl)',
    );
  return ok('clock', `${new Date(now).toISOString()}${jumped}`);
}

function jumpText({ at, ms }: ClockJump): string {
  const how = ms < 0 ? `back by ${duration(-ms)}` : `forward by ${duration(ms)}, or the computer slept`;
  return `it jumped ${how}, to ${new Date(at).toISOString()}`;
}

/** Shows the time zone whose days budgets and reports use. */
export function checkTimezone(context: Context): Finding {
  const { settings, origins } = readSettings(context);
  const { timezone } = settings;
  const now = context.clock.now();
  const resets = createTimeFormat(timezone).moment(createCalendar(timezone).day(now).end, now);
  const source = origins.timezone === 'default' ? "the system's" : origins.timezone;
  const message = `${timezone} (${source}), the day ends at ${resets}`;
  if (origins.timezone !== 'default') return ok('time zone', message);
  return ok('time zone', `${message}; to change it: gw config set timezone Europe/Paris`);
}
