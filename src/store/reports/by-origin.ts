import type { Db } from '../database/open.ts';
import type { UsageSpan } from './by-day.ts';
import { FIGURE_NAMES, FROM_GW, SUMS, sumFigures, type UsageFigures, type UsageRow } from './figures.ts';

const UNKNOWN = 'unknown';

/**
 * Usage of each program or repository, highest cost first. Usage of unknown origin is the difference between all usage
 * and that of known origins.
 */
export function usageByOrigin(
  db: Db,
  { from, to, projectId, groupBy }: UsageSpan & { groupBy: 'process' | 'repo' },
  all: UsageFigures,
): UsageRow[] {
  const rows = db
    .prepare<unknown[], UsageRow>(
      `SELECT n.name AS key, ${SUMS} FROM usage u JOIN names n ON n.id = u.${groupBy}_id
       WHERE ${FROM_GW} AND u.bucket >= @from AND u.bucket < @to AND u.${groupBy}_id <> 0 AND (@projectId IS NULL OR u.project_id = @projectId)
       GROUP BY n.id`,
    )
    .all({ from, to, projectId: projectId ?? null });
  const unknown: UsageRow = { key: UNKNOWN, ...all };
  const total = sumFigures(rows);
  for (const name of FIGURE_NAMES) unknown[name] -= total[name];
  return (unknown.requests > 0 ? [...rows, unknown] : rows).sort(
    (a, b) => b.costNanoUsd - a.costNanoUsd || b.requests - a.requests || (a.key < b.key ? -1 : 1),
  );
}
