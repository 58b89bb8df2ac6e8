import { existsSync, statSync } from 'node:fs';
import { messageOf } from '../../errors.ts';
import type { Paths } from '../../paths.ts';
import { inspectDatabase } from '../../store/inspect.ts';
import { bytes, plural } from '../output/numbers.ts';
import { broken, type Finding, ok, warning } from './check.ts';

/** Integrity, schema and size of the database. */
export function checkDatabase({ database }: Paths): Finding {
  if (!existsSync(database)) return warning('database', `${database} does not exist yet`, 'gw start');
  try {
    const { faults, schema, wantedSchema, requests } = inspectDatabase(database);
    if (faults.length > 0) {
      return broken('database', `${database} is damaged: ${faults.join('; ')}`, restoring(database));
    }
    if (schema > wantedSchema) {
      return broken('database', `it has schema ${schema}, this gw knows ${wantedSchema}`, 'update gw');
    }
    if (schema < wantedSchema) {
      return warning(
        'database',
        `it has schema ${schema}; schema ${wantedSchema} is made at the next start`,
        'gw restart',
      );
    }
    const size = ['', '-wal'].reduce((sum, suffix) => sum + sizeOf(database + suffix), 0);
    return ok('database', `sound, schema ${schema}, ${bytes(size)}, ${plural(requests, 'request')}`);
  } catch (error) {
    return broken('database', `${database} cannot be read: ${messageOf(error)}`, restoring(database));
  }
}

function restoring(database: string): string {
  return `gw stop, mv '${database}' '${database}.damaged', then put a copy that gw backup made in its place`;
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
