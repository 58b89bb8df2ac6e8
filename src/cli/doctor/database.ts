import { existsSync, statSync } from 'node:fs';
import { messageOf } from '../../errors.ts';
import type { Paths } from '../../paths.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { inspectDatabase } from '../../store/database/inspect.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { reasonOf } from '../../write-fault.ts';
import { refuseLostDatabase } from '../daemon/find.ts';
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
