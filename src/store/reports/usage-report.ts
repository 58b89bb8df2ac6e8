import { addDays, type Calendar } from '../../calendar.ts';
import type { Db } from '../database/open.ts';
import { usageByDay } from './by-day.ts';
import { usageByGroup } from './by-group.ts';
import { usageByName } from './by-name.ts';
import { sumFigures, type UsageFigures, type UsageRow } from './figures.ts';
import { groupingsOf, type UsageQuery } from './query.ts';

export type { UsageFigures, UsageRow } from './figures.ts';
export { usageTrends } from './trends.ts';

export interface UsageReport {
  rows: UsageRow[];
  total: UsageFigures;
}

/**
 * Usage over a span of days, by day in order, or by a name with the highest cost first. Where nothing but a project is
 * asked for, summed hours are read from the sums and later ones from the rollups and the journal: a report over years
 * reads a few thousand rows, however many requests there were.
 */
export async function usageReport(db: Db, calendar: Calendar, query: UsageQuery): Promise<UsageReport> {
  const { from: first, to: last, groupBy, ...conditions } = query;
  const { projectId, ...filter } = conditions;
  const from = calendar.startOfDate(first);
  const to = calendar.startOfDate(addDays(last, 1));
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  // One transaction, so that an hour that is summed meanwhile is counted once.
  const readRows = db.transaction(() => {
    if (!isFiltered && groupBy === 'day') return usageByDay(db, calendar, { from, to, projectId });
    if (!isFiltered && (groupBy === 'model' || groupBy === 'project'))
      return usageByName(db, { from, to, projectId, groupBy });
    return usageByGroup(db, calendar, { from, to, groups: groupingsOf(groupBy), conditions });
  });
  const rows = readRows();
  return { rows, total: sumFigures(rows) };
}
