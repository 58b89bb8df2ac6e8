import { columnName } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { bucketOf } from '../database/usage-bucket.ts';
import { BILLED_NANO_USD, FLAGS, OUTCOMES, SOURCES } from '../ledger/record.ts';
import {
  ADD_COUNTERS,
  COUNTERS,
  type Counter,
  FIGURES,
  type UsageFigures,
  type UsageSums,
} from './usage-sums.ts';

/** Dimensions of usage: the columns of `usage_dims`. */
export const DIMS = [
  'source',
  'project_id',
  'provider_id',
  'model_id',
  'key_id',
  'agent_id',
  'repo_id',
  'process_id',
  'session_id',
  'labels_id',
] as const;

const FAILURES = [OUTCOMES.upstream_error, OUTCOMES.upstream_failed, OUTCOMES.refused, OUTCOMES.crashed];

/** SQL for the figures of one record, of those that have no column of their name or are not simply that. */
const OF_RECORD: Partial<Record<keyof UsageFigures, string>> = {
  requests: '1 + folded',
  blockedRequests: `iif(outcome = ${OUTCOMES.blocked}, 1 + folded, 0)`,
  failedRequests: `iif(outcome IN (${FAILURES.join(', ')}), 1 + folded, 0)`,
  unpricedRequests: `(flags & ${FLAGS.unpriced}) <> 0`,
  costNanoUsd: BILLED_NANO_USD,
  replayedRequests: `(flags & ${FLAGS.replayed}) <> 0`,
};
const figureOf = (name: keyof UsageFigures) => OF_RECORD[name] ?? columnName(name);
/** SQL for a record as a row of usage: its dimensions and its figures. */
export const FIGURES_OF_RECORD = [
  'at AS bucket',
  ...DIMS,
  ...FIGURES.map((name) => `${figureOf(name)} AS ${columnName(name)}`),
].join(', ');
/** SQL for the sums of figures over records. */
const sums = (figures: readonly (keyof UsageFigures)[]) =>
  figures.map((name) => `sum(${figureOf(name)}) AS ${columnName(name)}`).join(', ');

/** The figures of a session besides its cost. */
export const SESSION_COUNTS = [
  'requests',
  'blockedRequests',
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
] as const;
export const SESSION_FIGURES = [...SESSION_COUNTS, 'costNanoUsd'] as const;
/** SQL for what records add to their session: figures, the first and the last time, the repository. */
export const SESSION_SUMS = `${sums(SESSION_FIGURES)}, min(at) AS first, max(at) AS last, max(repo_id) AS repo`;

/** Usage is read by quarters of an hour, which buckets are made of. */
const QUARTER_MS = 900_000;

type Group = Record<(typeof DIMS)[number] | Counter | 'at', number>;

/** Writes rows of usage, within a write transaction. Dimensions are in the order of DIMS, counters in that of COUNTERS. */
export function createUsageRows(db: Db) {
  const selectDims = db
    .prepare<number[], number>(
      `SELECT id FROM usage_dims WHERE ${DIMS.map((name) => `${name} = ?`).join(' AND ')}`,
    )
    .pluck();
  const insertDims = db.prepare<number[]>(`INSERT INTO usage_dims (${DIMS.join(', ')})
    VALUES (${DIMS.map(() => '?').join(', ')})`);
  const upsert = db.prepare<number[]>(`INSERT INTO usage_hours (bucket, dims_id, ${COUNTERS.join(', ')})
    VALUES (?, ?, ${COUNTERS.map(() => '?').join(', ')}) ${ADD_COUNTERS}`);
  return {
    /** Adds counters to the bucket of a time. */
    add(timeMs: number, dims: readonly number[], counts: readonly number[]) {
      const id = selectDims.get(...dims) ?? Number(insertDims.run(...dims).lastInsertRowid);
      upsert.run(bucketOf(timeMs), id, ...counts);
    },
  };
}

/** Adds journal rows to the rollups, within a write transaction. */
export function createRollups(db: Db, { sums: usageSums, where }: { sums: UsageSums; where: string }) {
  const select = db.prepare<[Record<string, number>], Group>(`
    SELECT min(at) AS at, ${DIMS.join(', ')}, ${sums(FIGURES)} FROM journal WHERE ${where}
    GROUP BY at / ${QUARTER_MS}, ${DIMS.join(', ')}`);
  const rows = createUsageRows(db);
  // A member of a team sends its figures there.
  const markForTeam = db.prepare<[number]>(`INSERT INTO team_usage_dirty (bucket) SELECT ?
    FROM team_membership WHERE TRUE ON CONFLICT DO UPDATE SET version = version + 1`);
  const updateSessions = db.prepare<[Record<string, number>]>(
    `UPDATE sessions SET
     ${SESSION_FIGURES.map(columnName).map((name) => `${name} = sessions.${name} + j.${name}`)},
     first_at = iif(first_at = 0, j.first, first_at), last_at = max(last_at, j.last), repo_id = max(repo_id, j.repo)
     FROM (SELECT session_id AS session, ${SESSION_SUMS}
       FROM journal WHERE session_id <> 0 AND ${where} GROUP BY session_id) j WHERE sessions.id = j.session`,
  );
  return {
    /** Adds the rows that `where`, SQL with named `parameters`, selects. */
    add(parameters: Record<string, number>) {
      const summedUntil = usageSums.until();
      const buckets = new Set<number>();
      for (const group of select.all(parameters)) {
        const counts = COUNTERS.map((name) => group[name]);
        rows.add(
          group.at,
          DIMS.map((name) => group[name]),
          counts,
        );
        const bucket = bucketOf(group.at);
        if (group.source === SOURCES.gw) buckets.add(bucket);
        // The request ran for long, or its daemon died long ago.
        if (bucket < summedUntil && group.source === SOURCES.gw)
          usageSums.add([
            ...[bucket, group.project_id, group.provider_id, group.model_id, group.agent_id],
            ...counts,
          ]);
      }
      for (const bucket of buckets) markForTeam.run(bucket);
      updateSessions.run(parameters);
    },
  };
}
