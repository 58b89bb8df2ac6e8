import { type Calendar, createCalendar } from '../../calendar.ts';
import type { Db } from '../../store/database/open.ts';
import type { Grouping } from '../../store/reports/query.ts';
import { usageReport, usageTrends } from '../../store/reports/usage-report.ts';
import { usageResponse } from '../../store/reports/usage-response.ts';
import type { UsageFilter } from '../reader.ts';
import type { UsageTrendsView, UsageView } from '../schemas.ts';
import { conditionsOf, usageSourceOf } from './request-conditions.ts';
import type { Scope } from './scope.ts';

interface Source {
  db: Db;
  scope: Scope;
  calendar: Calendar;
  projectId: number | undefined;
}

export async function readUsage(
  source: Source,
  filter: UsageFilter,
  project: string | null,
): Promise<UsageView> {
  const { db } = source;
  const { from, to, groupBy, timezone } = filter;
  const calendar = timezone === undefined ? source.calendar : createCalendar(timezone);
  const conditions = await conditionsOf(source, filter);
  const wanted = usageSourceOf(filter.source, filter.status);
  const report = await usageReport(db, calendar, { ...conditions, source: wanted, from, to, groupBy });
  const scope = { from, to, groupBy, project, timezone: calendar.timezone };
  // The schema's test validates the fields.
  return usageResponse(report, scope, { nano: true }) as unknown as UsageView;
}

export async function readTrends(
  source: Source,
  filter: UsageFilter & { groupBy: Exclude<Grouping, 'day'> },
): Promise<UsageTrendsView> {
  const { db, calendar } = source;
  const { from, to, groupBy } = filter;
  const conditions = await conditionsOf(source, filter);
  const wanted = usageSourceOf(filter.source, filter.status);
  const trends = await usageTrends(db, calendar, { ...conditions, source: wanted, from, to, groupBy });
  const data = trends && [...trends].map(([key, costs]) => ({ key, cost_nano_usd: costs }));
  return { object: 'usage_trends', data: data ?? null };
}
