import { existsSync, statSync } from 'node:fs';
import { messageOf } from '../../errors.ts';
import type { Paths } from '../../paths.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { type DatabaseSize, inspectDatabase, measureDatabase } from '../../store/database/inspect.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { reasonOf } from '../../write-fault.ts';
import type { Context } from '../context.ts';
import { refuseLostDatabase } from '../daemon/find.ts';
import { readSettings } from '../settings.ts';
import { broken, type Finding, ok, warning } from './check.ts';

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
    if (faults.length > 0) {
      return broken('database', `${database} is damaged: ${faults.join('; ')}`, restoring(database));
    }
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

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

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
