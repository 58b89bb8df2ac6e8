import { addDays, type Calendar } from '../../calendar.ts';
import type { Db } from '../database/open.ts';
import { usageByDay } from './by-day.ts';
import { usageByName } from './by-name.ts';
import { usageByOrigin } from './by-origin.ts';
import { sumFigures, type UsageFigures, type UsageRow } from './figures.ts';
import type { UsageQuery } from './query.ts';

export type { UsageFigures, UsageRow } from './figures.ts';
export { usageTrends } from './trends.ts';

export interface UsageReport {
  rows: UsageRow[];
  total: UsageFigures;
}

/**
 * Usage over a span of days, by day in order, or by a name with the highest cost first. Summed hours are read from the
 * sums, later ones from the rollups and the journal: a report over years reads a few thousand rows, however many requests there were.
 */
export async function usageReport(db: Db, calendar: Calendar, query: UsageQuery): Promise<UsageReport> {
  const { groupBy, projectId } = query;
  const from = calendar.startOfDate(query.from);
  const to = calendar.startOfDate(addDays(query.to, 1));
  const span = { from, to, projectId };
  // One transaction, so that an hour that is summed meanwhile is counted once.
  const readRows = db.transaction(() => {
    switch (groupBy) {
      case 'day':
        return usageByDay(db, calendar, span);
      case 'model':
      case 'project':
        return usageByName(db, { ...span, groupBy });
      case 'process':
      case 'repo':
        return usageByOrigin(db, { ...span, groupBy }, sumFigures(usageByDay(db, calendar, span)));
    }
  });
  const rows = readRows();
  return { rows, total: sumFigures(rows) };
}
