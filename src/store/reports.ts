import { addDays, type Calendar } from '../calendar.ts';
import type { Db } from './open.ts';
import { usageByDay } from './reports/by-day.ts';
import { usageByName } from './reports/by-name.ts';
import { addFigures, FIGURE_NAMES, type UsageFigures, type UsageRow } from './reports/figures.ts';

export type { UsageFigures, UsageRow } from './reports/figures.ts';

export const GROUPINGS = ['day', 'model', 'project'] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface UsageReport {
  rows: UsageRow[];
  total: UsageFigures;
}

export interface UsageQuery {
  /** Inclusive local days, YYYY-MM-DD. */
  from: string;
  to: string;
  groupBy: Grouping;
  /** Only this project's; all when absent. */
  projectId?: number;
}

/**
 * Usage over a span of days, by day (in order), or by model or project (dearest first). Summed hours come from the
 * sums, the open ones from the rollups: a report of years reads a few thousand rows, however many requests there were.
 */
export async function usageReport(db: Db, calendar: Calendar, query: UsageQuery): Promise<UsageReport> {
  const { groupBy, projectId } = query;
  const from = calendar.startOfDate(query.from);
  const to = calendar.startOfDate(addDays(query.to, 1));
  // One transaction: an hour that is being summed is counted once.
  const read = db.transaction(() =>
    groupBy === 'day'
      ? usageByDay(db, calendar, { from, to, projectId })
      : usageByName(db, { from, to, projectId, groupBy }),
  );
  const rows = read();
  return { rows, total: sumOf(rows) };
}

function sumOf(rows: UsageRow[]): UsageFigures {
  const total = Object.fromEntries(FIGURE_NAMES.map((name) => [name, 0])) as unknown as UsageFigures;
  for (const row of rows) addFigures(total, row);
  return total;
}
