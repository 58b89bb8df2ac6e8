import { columnName, type Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { SOURCES } from '../ledger/record.ts';

/** The figures of a rollup: sums over records. */
export type UsageFigures = Omit<Row<'usageHours'>, 'bucket' | 'dimsId'>;

export const COUNTS = [
  'requests',
  'blockedRequests',
  'failedRequests',
  'unpricedRequests',
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'savedTokens',
] as const satisfies (keyof UsageFigures)[];
/** In the order of the columns of `usage_sums`. Input that the cache could have served comes with what it cost beyond that. */
export const FIGURES = [
  ...COUNTS,
  'costNanoUsd',
  'savedNanoUsd',
  'missedTokens',
  'missedNanoUsd',
  'replayedRequests',
] as const;
export const COUNTERS = FIGURES.map(columnName);
export type Counter = (typeof COUNTERS)[number];

/** The end of an upsert that adds the counters of the new row to the stored ones. */
export const ADD_COUNTERS = `ON CONFLICT DO UPDATE SET ${COUNTERS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;

/**
 * The kinds of rows in `usage_sums`. Reports by day need buckets, since days depend on the time zone. Reports by model
 * or project need buckets at the ends of the span alone, and UTC days between. The numbers are stored: append, never
 * renumber.
 */
export const SUM_KINDS = {
  bucket: 1,
  bucketOfProject: 2,
  dayOfProject: 3,
  dayOfModel: 4,
  dayOfProjectAndModel: 5,
} as const;
type SumKind = keyof typeof SUM_KINDS;

/** SQL for the start of a bucket's UTC day. */
const DAY = 'bucket - bucket % 86400000';

/** SQL for the key of each kind: project, start, provider, model; 0 for those that it sums over. */
const KEYS: Record<SumKind, string> = {
  bucket: '0, bucket, 0, 0',
  bucketOfProject: 'project_id, bucket, 0, 0',
  dayOfProject: `project_id, ${DAY}, 0, 0`,
  dayOfModel: `0, ${DAY}, provider_id, model_id`,
  dayOfProjectAndModel: `project_id, ${DAY}, provider_id, model_id`,
};

const HOUR_MS = 3_600_000;
const COLUMNS = ['bucket', 'project_id', 'provider_id', 'model_id', ...COUNTERS];

/** Derives `usage_sums` from `usage_hours`, without imported usage. Call its functions within a write transaction. */
export type UsageSums = ReturnType<typeof createUsageSums>;

export function createUsageSums(db: Db) {
  const selectUntil = prepareSummedUntil(db);
  const updateUntil = db.prepare("UPDATE meta SET value = ? WHERE key = 'usage_summed_until'");
  const selectFirst = db
    .prepare<[number], number | null>('SELECT min(bucket) FROM usage_hours WHERE bucket >= ?')
    .pluck();
  const sumRange = statements(db, `hourly_usage WHERE source = ${SOURCES.gw} AND bucket >= ? AND bucket < ?`);
  const addRow = statements(db, `(SELECT ${COLUMNS.map((name) => `? AS ${name}`).join(', ')}) WHERE TRUE`);
  /** Buckets before this time are in the sums. */
  const until = () => selectUntil.get() ?? 0;
  return {
    until,
    /** Adds usage to an hour that is summed already: bucket, project, provider, model and the counters in order. */
    add(row: number[]) {
      for (const statement of addRow) statement.run(...row);
    },
    /** Sums the first hour with usage that is not summed yet, if it ended by `before`; false if there is none. */
    sumNextHour(before: number): boolean {
      const first = selectFirst.get(until());
      if (first === undefined || first === null) return false;
      const end = first - (first % HOUR_MS) + HOUR_MS;
      if (end > before) return false;
      for (const statement of sumRange) statement.run(first, end);
      updateUntil.run(end);
      return true;
    },
  };
}

/** Reads the time before which buckets are in the sums. Read the rest from `usage_hours` in the same transaction. */
export function prepareSummedUntil(db: Db) {
  return db.prepare<[], number>("SELECT value FROM meta WHERE key = 'usage_summed_until'").pluck();
}

function statements(db: Db, source: string) {
  return (Object.keys(SUM_KINDS) as SumKind[]).map((kind) =>
    db.prepare<number[]>(
      `INSERT INTO usage_sums SELECT ${SUM_KINDS[kind]}, ${KEYS[kind]}, ${COUNTERS.map((name) => `sum(${name})`).join(', ')}
       FROM ${source} GROUP BY 2, 3, 4, 5 ${ADD_COUNTERS}`,
    ),
  );
}
