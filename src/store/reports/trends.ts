import { addDays, type Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { UNKNOWN, usageByGroup } from './by-group.ts';
import type { Grouping, UsageQuery } from './query.ts';

/** A small chart is not worth reading more buckets. */
const MAX_DAYS = 92;

/** Spend on each day of the span, by the report row's key; undefined for spans of more than MAX_DAYS. */
export async function usageTrends(
  db: Db,
  calendar: Calendar,
  { from, to, groupBy, ...conditions }: UsageQuery & { groupBy: Exclude<Grouping, 'day'> },
): Promise<Map<string, NanoUsd[]> | undefined> {
  const days: string[] = [];
  for (let day = from; day <= to && days.length <= MAX_DAYS; day = addDays(day, 1)) days.push(day);
  if (days.length > MAX_DAYS) return undefined;
  const span = { from: calendar.startOfDate(from), to: calendar.startOfDate(addDays(to, 1)) };
  const places = new Map(days.map((day, i) => [day, i]));
  const trends = new Map<string, NanoUsd[]>();
  for (const row of usageByGroup(db, calendar, { ...span, groups: [groupBy, 'day'], conditions })) {
    if (row.key === UNKNOWN) continue;
    const trend = trends.get(row.key) ?? days.map(() => 0);
    const place = places.get(row.subkey ?? '');
    if (place !== undefined) trend[place] = row.costNanoUsd;
    trends.set(row.key, trend);
  }
  return trends;
}
