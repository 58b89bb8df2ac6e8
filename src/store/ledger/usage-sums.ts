import type { Db } from '../database/open.ts';
import { ADD_COUNTERS, COUNTERS } from './counters.ts';

/**
 * What `usage_sums` adds up. By day a report needs buckets, since days are those of a time zone; by model or project
 * it needs them at its ends only, and days of UTC between. The numbers are stored: append, never renumber.
 */
export const SUM_KINDS = {
  bucket: 1,
  bucketOfProject: 2,
  dayOfProject: 3,
  dayOfModel: 4,
  dayOfProjectAndModel: 5,
} as const;
export type SumKind = keyof typeof SUM_KINDS;

/** The start of a bucket's UTC day, in SQL. */
const DAY = 'bucket - bucket % 86400000';

/** The key of each kind, in SQL: project, start, provider, model; 0 where it sums over them. */
const KEYS: Record<SumKind, string> = {
  bucket: '0, bucket, 0, 0',
  bucketOfProject: 'project_id, bucket, 0, 0',
  dayOfProject: `project_id, ${DAY}, 0, 0`,
  dayOfModel: `0, ${DAY}, provider_id, model_id`,
  dayOfProjectAndModel: `project_id, ${DAY}, provider_id, model_id`,
};

const HOUR_MS = 3_600_000;
const COLUMNS = ['bucket', 'project_id', 'provider_id', 'model_id', ...COUNTERS];

/** Keeps `usage_sums` in step with `usage_hours`, which stay the truth; all of it belongs into write transactions. */
export interface UsageSums {
  /** Buckets before this are in the sums. */
  until(): number;
  /** Adds a row of `usage_hours` (its columns in their order) that came after its hour was summed. */
  add(row: number[]): void;
  /** Sums the first hour with usage that is not summed yet, if it ended by `before`. False if there is none. */
  sumNextHour(before: number): boolean;
  /** Forgets what was read: somebody else has written since, or the batch has failed. */
  forget(): void;
}

export function createUsageSums(db: Db): UsageSums {
  const selectUntil = prepareSummedUntil(db);
  const updateUntil = db.prepare("UPDATE meta SET value = ? WHERE key = 'usage_summed_until'");
  const selectFirst = db
    .prepare<[number], number | null>('SELECT min(bucket) FROM usage_hours WHERE bucket >= ?')
    .pluck();
  const sumRange = statements(db, 'usage_hours WHERE bucket >= ? AND bucket < ?');
  const addRow = statements(db, `(SELECT ${COLUMNS.map((name) => `? AS ${name}`).join(', ')}) WHERE TRUE`);
  let known: number | undefined;
  const until = () => {
    known ??= selectUntil.get() ?? 0;
    return known;
  };
  return {
    until,
    add(row) {
      for (const statement of addRow) statement.run(...row);
    },
    sumNextHour(before) {
      const first = selectFirst.get(until());
      if (first === undefined || first === null) return false;
      const end = first - (first % HOUR_MS) + HOUR_MS;
      if (end > before) return false;
      for (const statement of sumRange) statement.run(first, end);
      updateUntil.run(end);
      known = end;
      return true;
    },
    forget() {
      known = undefined;
    },
  };
}

/** Reads up to when buckets are in the sums; the rest of a report comes from `usage_hours`, in the same transaction. */
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
