import type { Span } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { SOURCES } from '../ledger/record.ts';

/** The totals of a span of time. */
export interface WindowTotals {
  requests: number;
  blockedRequests: number;
  failedRequests: number;
  unpricedRequests: number;
  savedTokens: number;
  costNanoUsd: NanoUsd;
  savedNanoUsd: NanoUsd;
}

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
/** Imported usage did not go through gw. */
const FROM_GW = `source = ${SOURCES.gw}`;

/** Reads the rollups of a span that starts and ends with an hour or a local day. */
export function createWindowUsageReader(db: Db): (span: Span) => WindowUsage {
  const selectBuckets = db.prepare<[number, number], Bucket>(
    `SELECT bucket AS start, sum(requests) AS requests, sum(blocked_requests) AS blockedRequests,
     sum(failed_requests) AS failedRequests, sum(unpriced_requests) AS unpricedRequests,
     sum(saved_tokens) AS savedTokens, sum(cost_nano_usd) AS costNanoUsd, sum(saved_nano_usd) AS savedNanoUsd
     FROM usage WHERE ${FROM_GW} AND bucket >= ? AND bucket < ? GROUP BY bucket`,
  );
  const selectModels = db.prepare<[number, number], ModelSpend>(
    `SELECT v.name AS provider, m.name AS model, sum(u.requests) AS requests, sum(u.cost_nano_usd) AS costNanoUsd
     FROM usage u JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id
     WHERE ${FROM_GW} AND u.bucket >= ? AND u.bucket < ? GROUP BY u.provider_id, u.model_id HAVING requests > 0
     ORDER BY costNanoUsd DESC, requests DESC, model LIMIT ${TOP}`,
  );
  const selectCallers = db.prepare<[number, number], CallerSpend>(
    `SELECT c.name AS process, r.name AS repo, sum(u.requests) AS requests, sum(u.cost_nano_usd) AS costNanoUsd
     FROM usage u JOIN names c ON c.id = u.process_id JOIN names r ON r.id = u.repo_id
     WHERE ${FROM_GW} AND u.process_id + u.repo_id > 0 AND u.bucket >= ? AND u.bucket < ?
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
  const total: WindowTotals = {
    requests: 0,
    blockedRequests: 0,
    failedRequests: 0,
    unpricedRequests: 0,
    savedTokens: 0,
    costNanoUsd: 0,
    savedNanoUsd: 0,
  };
  for (const bucket of buckets) {
    for (const name of Object.keys(total) as (keyof WindowTotals)[]) total[name] += bucket[name];
  }
  return total;
}
