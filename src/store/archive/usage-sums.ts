import { columnName, type Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { IS_FROM_GW } from '../ledger/record.ts';

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

/** What sums can be by, as columns of usage. */
export const SUMMED_BY = {
  project: ['project_id'],
  model: ['provider_id', 'model_id'],
  agent: ['agent_id'],
} as const;
export type SummedBy = keyof typeof SUMMED_BY;

export interface SumKind {
  kind: number;
  /** The unit of `start`: a bucket, since days depend on the time zone, or a UTC day, for spans of many. */
  time: 'bucket' | 'day';
  by: readonly SummedBy[];
}

/** The kinds of rows in `usage_sums`, those with fewer rows first. The numbers are stored: append, never renumber. */
export const SUM_KINDS: readonly SumKind[] = [
  { kind: 3, time: 'day', by: ['project'] },
  { kind: 4, time: 'day', by: ['model'] },
  { kind: 5, time: 'day', by: ['project', 'model'] },
  { kind: 10, time: 'day', by: ['model', 'agent'] },
  { kind: 11, time: 'day', by: ['project', 'model', 'agent'] },
  { kind: 1, time: 'bucket', by: [] },
  { kind: 2, time: 'bucket', by: ['project'] },
  { kind: 7, time: 'bucket', by: ['agent'] },
  { kind: 9, time: 'bucket', by: ['project', 'agent'] },
  { kind: 6, time: 'bucket', by: ['model'] },
  { kind: 8, time: 'bucket', by: ['project', 'model'] },
];

const DAY_MS = 86_400_000;
const STARTS = { bucket: 'bucket', day: `bucket - bucket % ${DAY_MS}` };

/** SQL for the key of a kind's rows: kind, project, start, provider, model, agent; 0 for those that it sums over. */
function keyOf({ kind, time, by }: SumKind): string {
  const columns: readonly string[] = by.flatMap((each) => SUMMED_BY[each]);
  const [project, ...rest] = ['project_id', 'provider_id', 'model_id', 'agent_id'].map((name) =>
    columns.includes(name) ? name : '0',
  );
  return [kind, project, STARTS[time], ...rest].join(', ');
}

const HOUR_MS = 3_600_000;
/** Of the rows that are summed. */
const DIMS = ['bucket', 'project_id', 'provider_id', 'model_id', 'agent_id'];
const COLUMNS = [...DIMS, ...COUNTERS];

/** Derives `usage_sums` from `usage_hours`, without imported usage. Call its functions within a write transaction. */
export type UsageSums = ReturnType<typeof createUsageSums>;

export function createUsageSums(db: Db) {
  const selectUntil = prepareSummedUntil(db);
  const updateUntil = db.prepare("UPDATE meta SET value = ? WHERE key = 'usage_summed_until'");
  const selectFirst = db
    .prepare<[number], number | null>('SELECT min(bucket) FROM usage_hours WHERE bucket >= ?')
    .pluck();
  const sumRange = statements(db, `hourly_usage WHERE ${IS_FROM_GW} AND bucket >= ? AND bucket < ?`);
  const addRow = statements(db, `(SELECT ${COLUMNS.map((name) => `? AS ${name}`).join(', ')}) WHERE TRUE`);
  /** Buckets before this time are in the sums. */
  const until = () => selectUntil.get() ?? 0;
  return {
    until,
    /** Adds usage to an hour that is summed already: bucket, project, provider, model, agent and the counters in order. */
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

/**
 * SQL for rows of usage between `@start` and `@end` by models, agents or projects, of one project or, with 0, of all. Summed hours
 * are read from the sums, and what is not in them from the rollups and the journal.
 */
export function summedUsage(by: SummedBy, projectId: number): string {
  const hasProject = by === 'project' || projectId > 0;
  const sums = SUM_KINDS.find(
    (each) => each.time === 'bucket' && each.by.includes(by) && each.by.includes('project') === hasProject,
  );
  const projects = hasProject && projectId === 0 ? 'IN (SELECT id FROM projects)' : `= ${projectId}`;
  const until = "(SELECT value FROM meta WHERE key = 'usage_summed_until')";
  const columns = [...SUMMED_BY[by], ...COUNTERS].join(', ');
  const fromGw = `${IS_FROM_GW} AND bucket < @end`;
  return `SELECT start AS bucket, ${columns} FROM usage_sums WHERE kind = ${sums?.kind} AND project_id ${projects} AND start >= @start AND start < @end
    UNION ALL SELECT bucket, ${columns} FROM hourly_usage WHERE ${fromGw} AND bucket >= max(@start, ${until})
    UNION ALL SELECT bucket, ${columns} FROM journaled_usage WHERE ${fromGw} AND bucket >= @start`;
}

function statements(db: Db, source: string) {
  const totals = COUNTERS.map((name) => `sum(${name})`).join(', ');
  return SUM_KINDS.map((each) =>
    db.prepare<number[]>(
      `INSERT INTO usage_sums SELECT ${keyOf(each)}, ${totals} FROM ${source} GROUP BY 2, 3, 4, 5, 6 ${ADD_COUNTERS}`,
    ),
  );
}
