import { addDays, type Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { MODEL_NAME } from './by-name.ts';
import { FROM_GW } from './figures.ts';
import type { Grouping, UsageQuery } from './query.ts';

/** A small chart is not worth reading more buckets. */
const MAX_DAYS = 92;

/** Spend on each day of the span, by the report row's key; undefined for spans of more than MAX_DAYS. */
export async function usageTrends(
  db: Db,
  calendar: Calendar,
  { from, to, projectId, groupBy }: UsageQuery & { groupBy: Exclude<Grouping, 'day'> },
): Promise<Map<string, NanoUsd[]> | undefined> {
  const days: string[] = [];
  for (let day = from; day <= to && days.length <= MAX_DAYS; day = addDays(day, 1)) days.push(day);
  if (days.length > MAX_DAYS) return undefined;
  const { name, source, known = 'TRUE' } = SOURCES[groupBy];
  const rows = db.prepare<unknown[], { key: string; bucket: number; cost: NanoUsd }>(
    `SELECT ${name} AS key, u.bucket, sum(u.cost_nano_usd) AS cost FROM ${source}
     WHERE ${FROM_GW} AND u.bucket >= @start AND u.bucket < @end AND (@projectId IS NULL OR u.project_id = @projectId) AND ${known} GROUP BY 1, 2`,
  );
  const [start, end] = [calendar.startOfDate(from), calendar.startOfDate(addDays(to, 1))];
  const trends = new Map<string, NanoUsd[]>();
  for (const { key, bucket, cost } of rows.all({ start, end, projectId: projectId ?? null })) {
    const trend = trends.get(key) ?? days.map(() => 0);
    const day = days.indexOf(calendar.dateOf(bucket));
    trend[day] = (trend[day] ?? 0) + cost;
    trends.set(key, trend);
  }
  return trends;
}

const SOURCES: Record<Exclude<Grouping, 'day'>, { name: string; source: string; known?: string }> = {
  project: { name: 'p.name', source: 'usage u JOIN projects p ON p.id = u.project_id' },
  model: {
    name: MODEL_NAME,
    source: 'usage u JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id',
  },
  process: { name: 'n.name', source: 'usage u JOIN names n ON n.id = u.process_id', known: 'n.id <> 0' },
  repo: { name: 'n.name', source: 'usage u JOIN names n ON n.id = u.repo_id', known: 'n.id <> 0' },
};
