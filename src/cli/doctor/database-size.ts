import { type DatabaseSize, measureDatabase } from '../../store/database/database-size.ts';
import { bytes, plural } from '../../terminal/numbers.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { type Finding, ok, warning } from './check.ts';

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
