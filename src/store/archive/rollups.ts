import type { Db } from '../database/open.ts';
import { bucketOf } from '../database/usage-bucket.ts';
import { BILLED_NANO_USD, FLAGS, OUTCOMES, SOURCES } from '../ledger/record.ts';
import { ADD_COUNTERS, COUNTERS, type Counter, type UsageSums } from './usage-sums.ts';

/** What usage is told apart by: the columns of `usage_dims`. */
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
] as const;

const FAILURES = [OUTCOMES.upstream_error, OUTCOMES.upstream_failed, OUTCOMES.refused, OUTCOMES.crashed];

/** SQL for the requests of a record that a budget blocked. */
export const BLOCKED = `iif(outcome = ${OUTCOMES.blocked}, 1 + folded, 0)`;

/** SQL for the figures of one record. */
const FIGURES: Partial<Record<Counter, string>> = {
  requests: '1 + folded',
  blocked_requests: BLOCKED,
  failed_requests: `iif(outcome IN (${FAILURES.join(', ')}), 1 + folded, 0)`,
  unpriced_requests: `(flags & ${FLAGS.unpriced}) <> 0`,
  cost_nano_usd: BILLED_NANO_USD,
};
/** SQL for a record as a row of usage: its dimensions and its figures. */
export const FIGURES_OF_RECORD = [
  'at AS bucket',
  ...DIMS,
  ...COUNTERS.map((name) => `${FIGURES[name] ?? name} AS ${name}`),
].join(', ');
const SUMS = COUNTERS.map((name) => `sum(${FIGURES[name] ?? name}) AS ${name}`).join(', ');

/** Usage is read by quarters of an hour, which buckets are made of. */
const QUARTER_MS = 900_000;

type Group = Record<(typeof DIMS)[number] | Counter | 'at', number>;

/** Adds journal rows to the rollups, within a write transaction. */
export interface Rollups {
  /** Adds the rows that `where`, SQL with named `parameters`, selects. */
  add(parameters: Record<string, number>): void;
}

/** Writes rows of usage, within a write transaction. */
export interface UsageRows {
  /** Adds counters to the bucket of a time. */
  add(timeMs: number, dims: readonly number[], counts: readonly number[]): void;
}

/** Dimensions are in the order of DIMS, counters in that of COUNTERS. */
export function createUsageRows(db: Db): UsageRows {
  const selectDims = db
    .prepare<number[], number>(
      `SELECT id FROM usage_dims WHERE ${DIMS.map((name) => `${name} = ?`).join(' AND ')}`,
    )
    .pluck();
  const insertDims = db.prepare<number[]>(
    `INSERT INTO usage_dims (${DIMS.join(', ')}) VALUES (${DIMS.map(() => '?').join(', ')})`,
  );
  const upsert = db.prepare<number[]>(
    `INSERT INTO usage_hours (bucket, dims_id, ${COUNTERS.join(', ')})
     VALUES (?, ?, ${COUNTERS.map(() => '?').join(', ')}) ${ADD_COUNTERS}`,
  );
  return {
    add(timeMs, dims, counts) {
      const id = selectDims.get(...dims) ?? Number(insertDims.run(...dims).lastInsertRowid);
      upsert.run(bucketOf(timeMs), id, ...counts);
    },
  };
}

export function createRollups(db: Db, { sums, where }: { sums: UsageSums; where: string }): Rollups {
  const select = db.prepare<[Record<string, number>], Group>(
    `SELECT min(at) AS at, ${DIMS.join(', ')}, ${SUMS} FROM journal WHERE ${where}
     GROUP BY at / ${QUARTER_MS}, ${DIMS.join(', ')}`,
  );
  const rows = createUsageRows(db);
  // A member of a team sends its figures there.
  const markForTeam = db.prepare<[number]>(
    `INSERT INTO team_usage_dirty (bucket) SELECT ? FROM team_membership WHERE TRUE
     ON CONFLICT DO UPDATE SET version = version + 1`,
  );
  const updateSessions = db.prepare<[Record<string, number>]>(
    `UPDATE sessions SET requests = requests + j.n, blocked_requests = blocked_requests + j.blocked,
     input_tokens = input_tokens + j.input, cached_input_tokens = cached_input_tokens + j.cached,
     cache_write_tokens = cache_write_tokens + j.written, output_tokens = output_tokens + j.output,
     cost_nano_usd = cost_nano_usd + j.cost,
     first_at = iif(first_at = 0, j.first, first_at), last_at = max(last_at, j.last), repo_id = max(repo_id, j.repo)
     FROM (SELECT session_id AS session, sum(1 + folded) AS n, sum(${BLOCKED}) AS blocked,
       sum(input_tokens) AS input, sum(cached_input_tokens) AS cached, sum(cache_write_tokens) AS written,
       sum(output_tokens) AS output, sum(${BILLED_NANO_USD}) AS cost, min(at) AS first, max(at) AS last,
       max(repo_id) AS repo
       FROM journal WHERE session_id <> 0 AND ${where} GROUP BY session_id) j WHERE sessions.id = j.session`,
  );
  return {
    add(parameters) {
      const summedUntil = sums.until();
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
          sums.add([bucket, group.project_id, group.provider_id, group.model_id, ...counts]);
      }
      for (const bucket of buckets) markForTeam.run(bucket);
      updateSessions.run(parameters);
    },
  };
}
