import { accessSync, chmodSync, constants, existsSync, readdirSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createCalendar } from '../../calendar.ts';
import { pathsOthersMayWrite } from '../../config/home-access.ts';
import { readSecrets } from '../../config/secrets.ts';
import { messageOf } from '../../errors.ts';
import type { Paths } from '../../paths.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { type DatabaseSize, inspectDatabase, measureDatabase } from '../../store/database/inspect.ts';
import { type ClockJump, lastClockJump, latestTime } from '../../store/database/set-back.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { createTimeFormat, duration } from '../../terminal/time.ts';
import { type Reason, reasonOf } from '../../write-fault.ts';
import type { Context } from '../context.ts';
import { refuseLostDatabase } from '../daemon/find.ts';
import { isOnPath } from '../invocation.ts';
import { abortingSqlite, missingSqlite } from '../missing-sqlite.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

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
  if (process.platform === 'win32' || open.length + replaceable.length === 0)
    return [ok('permissions', `only you can open ${paths.home}`)];
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
export async function checkInstall(context: Context): Promise<Finding> {
  const { version, program } = context;
  try {
    const { default: Database } = await import('better-sqlite3');
    new Database(':memory:').close();
    const aborting = abortingSqlite(context);
    if (aborting) return broken('install', aborting.why, aborting.mend);
    return ok('install', `gw ${version} in ${dirname(dirname(program))}`);
  } catch (error) {
    const { why, mend } = missingSqlite(error, context) ?? { why: messageOf(error), mend: 'npm install' };
    return broken('install', why, mend);
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

/** The result of a check. `mend` is the command or action that fixes it. */
export interface Finding {
  name: string;
  state: 'ok' | 'warning' | 'broken';
  message: string;
  mend?: string;
  /** The fix that `gw doctor --fix` applies. */
  fix?: () => void;
}

export const ok = (name: string, message: string): Finding => ({ name, state: 'ok', message });

export function warning(name: string, message: string, mend: string): Finding {
  return { name, state: 'warning', message, mend };
}

export function broken(name: string, message: string, mend: string): Finding {
  return { name, state: 'broken', message, mend };
}

/** Checking a database of this size takes about a second. */
const LARGE_BYTES = 100_000_000;

/** Whether the running daemon still writes to the file at the database's path. */
export async function checkDatabaseFile(paths: Paths): Promise<Finding | undefined> {
  try {
    await refuseLostDatabase(paths);
    return undefined;
  } catch (error) {
    return broken(
      'database',
      messageOf(error),
      `gw stop, put ${singleQuoted(paths.database)} back with its -wal and -shm files, then gw start`,
    );
  }
}

/** Checks the integrity, schema and size of the database. `quick` skips the integrity. */
export function checkDatabase({ database }: Paths, { quick = false } = {}): Finding {
  if (!existsSync(database)) return warning('database', `${database} does not exist yet`, 'gw start');
  try {
    const { faults, schema, wantedSchema, requests } = inspectDatabase(database, { quick });
    if (faults.length > 0)
      return broken('database', `${database} is damaged: ${faults.join('; ')}`, restoring(database));
    if (schema > wantedSchema) {
      return broken(
        'database',
        `it has schema ${schema}, but this gw knows only up to ${wantedSchema}`,
        'update gw',
      );
    }
    if (schema < wantedSchema) {
      return warning(
        'database',
        `it has schema ${schema}; the next start migrates it to ${wantedSchema}`,
        'gw restart',
      );
    }
    const state = quick ? 'integrity not checked' : 'intact';
    const size = bytes(sizeOfAll(database));
    return ok('database', `${state}, schema ${schema}, ${size}, ${plural(requests, 'request')}`);
  } catch (error) {
    const { why, mend } = reasonOf(database, error);
    return broken('database', `${database} cannot be read: ${why}`, mend ?? restoring(database));
  }
}

/** A message to print before a slow check; undefined for a small database. */
export function longCheckMessage({ database }: Paths): string | undefined {
  const size = sizeOfAll(database);
  if (size < LARGE_BYTES) return undefined;
  return `Checking the integrity of the database (${bytes(size)}). To skip that: gw doctor --quick`;
}

function restoring(database: string): string {
  return `gw stop, mv ${singleQuoted(database)} ${singleQuoted(`${database}.damaged`)}, then put a copy made by gw backup in its place`;
}

function sizeOfAll(database: string): number {
  return ['', '-wal'].reduce((sum, suffix) => sum + sizeOf(database + suffix), 0);
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const LARGE_LOG_BYTES = 64e6;
/** Prefixes of table names, and what to call their tables. */
const GROUPS = [
  ['request', 'requests'],
  ['journal', 'requests'],
  ['usage_', 'usage reports'],
  ['budget_periods', 'budgets'],
  ['events', 'events'],
  ['deliveries', 'deliveries'],
] as const;
/** All other tables, which hardly grow. */
const REST = 'other';

/** Shows what takes space in the database and what retention will delete. Warns of a large write-ahead log. */
export function checkDatabaseSize(context: Context): Finding {
  return measureDatabase(context.paths.database, (size) => {
    const message = [partsOf(size), prunedOf(size, context)].filter((part) => part !== '').join('; ');
    if (size.walBytes <= LARGE_LOG_BYTES) return ok('size', message);
    return warning(
      'size',
      `${message}; the write-ahead log has grown to ${bytes(size.walBytes)}, because a program reads the database all the time`,
      `close programs that have ${context.paths.database} open, then gw restart`,
    );
  });
}

function partsOf({ tables, freeBytes, walBytes }: DatabaseSize): string {
  const sizes = new Map<string, number>();
  for (const { name, bytes } of tables) {
    const [, group] = GROUPS.find(([start]) => name.startsWith(start)) ?? ['', REST];
    sizes.set(group, (sizes.get(group) ?? 0) + bytes);
  }
  const last = sizes.get(REST) ?? 0;
  sizes.delete(REST);
  const parts = [...[...sizes].sort(([, a], [, b]) => b - a), [REST, last] as const].map(
    ([group, size]) => `${group} ${bytes(size)}`,
  );
  if (freeBytes > 0) parts.push(`free for new records ${bytes(freeBytes)}`);
  return [...parts, `write-ahead log ${bytes(walBytes)}`].join(', ');
}

function prunedOf({ oldestRequestAt, requestsBefore }: DatabaseSize, context: Context): string {
  if (oldestRequestAt === null) return '';
  const { settings } = readSettings(context);
  const { written, ms: keepMs } = settings['retention.requests'];
  const since = createTimeFormat(settings.timezone).dateTime(oldestRequestAt).slice(0, 10);
  if (keepMs === undefined) return `requests since ${since} are kept forever (retention.requests)`;
  const due = requestsBefore(context.clock.now() - keepMs);
  const fate = due > 0 ? `, and ${plural(due, 'record')} will be deleted while gw runs` : '';
  return `requests since ${since} are kept for ${written} (retention.requests)${fate}`;
}
