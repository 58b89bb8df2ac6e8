import { usdFields, usdNumber } from '../../money.ts';
import { COUNTS, type UsageFigures } from '../archive/usage-sums.ts';
import { byColumnName } from '../database/columns.ts';
import { fieldOf, type GroupBy, groupingsOf, type UsageQuery } from './query.ts';
import type { UsageReport, UsageRow } from './usage-report.ts';

/** The query that a usage response repeats. */
export interface UsageScope extends Pick<UsageQuery, 'from' | 'to' | 'groupBy'> {
  /** The name of the only project; null: all projects. */
  project: string | null;
  timezone: string;
}

/** A report as `gw usage --json` returns it; `GET /v1/usage` leaves out the amounts in integer nano-USD. */
export function usageResponse(
  { rows, total }: UsageReport,
  { from, to, groupBy, project, timezone }: UsageScope,
): Record<string, unknown> {
  return {
    object: 'usage',
    project_id: project,
    from,
    to,
    timezone,
    group_by: groupBy,
    data: rows.map((row) => usageResponseRow(row, groupBy)),
    total: figuresOf(total),
  };
}

function usageResponseRow(row: UsageRow, groupBy: GroupBy): Record<string, string | number> {
  const [first = 'day', second] = groupingsOf(groupBy).map(fieldOf);
  return {
    [first]: row.key,
    ...(second === undefined ? {} : { [second]: row.subkey ?? '' }),
    ...figuresOf(row),
  };
}

function figuresOf(figures: UsageFigures): Record<string, number> {
  return {
    ...byColumnName(COUNTS, (name) => figures[name]),
    cost_usd: usdNumber(figures.costNanoUsd),
    saved_usd: usdNumber(figures.savedNanoUsd),
    cost_nano_usd: figures.costNanoUsd,
    saved_nano_usd: figures.savedNanoUsd,
    // At the end, since the columns of a CSV are read by their place too.
    missed_tokens: figures.missedTokens,
    ...usdFields('missed', figures.missedNanoUsd),
    replayed_requests: figures.replayedRequests,
  };
}
