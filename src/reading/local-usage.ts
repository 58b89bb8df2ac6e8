import type { Calendar } from '../calendar.ts';
import type { Db } from '../store/database/open.ts';
import type { Grouping } from '../store/reports/query.ts';
import { usageReport, usageTrends } from '../store/reports/usage-report.ts';
import { usageResponse } from '../store/reports/usage-response.ts';
import type { UsageFilter } from './reader.ts';
import type { UsageTrendsView, UsageView } from './schemas.ts';

interface Source {
  db: Db;
  calendar: Calendar;
  projectId: number | undefined;
}

export async function readUsage(
  { db, calendar, projectId }: Source,
  { from, to, groupBy }: UsageFilter,
  project: string | null,
): Promise<UsageView> {
  const report = await usageReport(db, calendar, { from, to, groupBy, ...idOf(projectId) });
  const scope = { from, to, groupBy, project, timezone: calendar.timezone };
  // The schema's test validates the fields.
  return usageResponse(report, scope, { nano: true }) as unknown as UsageView;
}

export async function readTrends(
  { db, calendar, projectId }: Source,
  { from, to, groupBy }: UsageFilter & { groupBy: Exclude<Grouping, 'day'> },
): Promise<UsageTrendsView> {
  const trends = await usageTrends(db, calendar, { from, to, groupBy, ...idOf(projectId) });
  const data = trends && [...trends].map(([key, costs]) => ({ key, cost_nano_usd: costs }));
  return { object: 'usage_trends', data: data ?? null };
}

function idOf(projectId: number | undefined): { projectId?: number } {
  return projectId === undefined ? {} : { projectId };
}
