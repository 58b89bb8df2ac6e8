import type { Span } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import { columnName, type Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { IS_FROM_GW } from '../ledger/record.ts';

/** The figures that the totals of a span of time have. */
const TOTALS = [
  'requests',
  'blockedRequests',
  'failedRequests',
  'unpricedRequests',
  'savedTokens',
  'costNanoUsd',
  'savedNanoUsd',
] as const;
export type WindowTotals = Pick<Row<'usageHours'>, (typeof TOTALS)[number]>;

export interface ModelSpend {
  provider: string;
  model: string;
  requests: number;
  costNanoUsd: NanoUsd;
}

/** The usage of a program in a repository; '' where it isn't known. */
export interface CallerSpend {
  process: string;
  repo: string;
  requests: number;
  costNanoUsd: NanoUsd;
}

export interface WindowUsage {
  totals: WindowTotals;
  /** Spend of each bucket of the rollups with requests; `start` in UTC milliseconds. */
  buckets: { start: number; costNanoUsd: NanoUsd }[];
  /** Highest cost first. */
  models: ModelSpend[];
  callers: CallerSpend[];
}

interface Bucket extends WindowTotals {
  start: number;
}

const TOP = 20;

/** Reads the rollups of a span that starts and ends with an hour or a local day. */
export function createWindowUsageReader(db: Db): (span: Span) => WindowUsage {
  const selectBuckets = db.prepare<[number, number], Bucket>(
    `SELECT bucket AS start, ${TOTALS.map((name) => `sum(${columnName(name)}) AS ${name}`).join(', ')}
     FROM usage WHERE ${IS_FROM_GW} AND bucket >= ? AND bucket < ? GROUP BY bucket`,
  );
  const selectModels = db.prepare<[number, number], ModelSpend>(
    `SELECT v.name AS provider, m.name AS model, sum(u.requests) AS requests, sum(u.cost_nano_usd) AS costNanoUsd
     FROM usage u JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id
     WHERE ${IS_FROM_GW} AND u.bucket >= ? AND u.bucket < ? GROUP BY u.provider_id, u.model_id HAVING requests > 0
     ORDER BY costNanoUsd DESC, requests DESC, model LIMIT ${TOP}`,
  );
  const selectCallers = db.prepare<[number, number], CallerSpend>(
    `SELECT c.name AS process, r.name AS repo, sum(u.requests) AS requests, sum(u.cost_nano_usd) AS costNanoUsd
     FROM usage u JOIN names c ON c.id = u.process_id JOIN names r ON r.id = u.repo_id
     WHERE ${IS_FROM_GW} AND u.process_id + u.repo_id > 0 AND u.bucket >= ? AND u.bucket < ?
     GROUP BY u.process_id, u.repo_id
     ORDER BY costNanoUsd DESC, requests DESC, process LIMIT ${TOP}`,
  );
  return ({ start, end }) => {
    const buckets = selectBuckets.all(start, end);
    return {
      totals: sumOf(buckets),
      buckets: buckets.map(({ start, costNanoUsd }) => ({ start, costNanoUsd })),
      models: selectModels.all(start, end),
      callers: selectCallers.all(start, end),
    };
  };
}

function sumOf(buckets: readonly WindowTotals[]): WindowTotals {
  const sum = (name: keyof WindowTotals) => buckets.reduce((total, bucket) => total + bucket[name], 0);
  return Object.fromEntries(TOTALS.map((name) => [name, sum(name)])) as WindowTotals;
}
