import { createCalendar } from '../../calendar.ts';
import { badRequest } from '../../errors.ts';
import { GROUP_CHOICES, type GroupBy, type Grouping, parseGroupBy } from '../../store/reports/query.ts';
import { usageTrends as trendsOf, usageReport } from '../../store/reports/usage-report.ts';
import { usageResponse } from '../../store/reports/usage-response.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/usage.ts';
import type { Sources } from '../sources.ts';
import { usageSpan } from '../usage-span.ts';
import { conditionsOf, usageSourceOf } from './conditions.ts';

export async function usage(
  sources: Sources,
  { group_by = 'day', timezone, ...query }: Input<typeof described.usage>,
): Promise<described.UsageView> {
  const { db, scope } = sources;
  const groupBy = groupByOf(group_by);
  const calendar = timezone === undefined ? sources.calendar : createCalendar(timezone);
  const asked = await queryOf(sources, query);
  const report = await usageReport(db, calendar, { ...asked, groupBy });
  const project = query.project_id ?? (scope.admin ? null : scope.project);
  const { from, to } = asked;
  const response = usageResponse(report, { from, to, groupBy, project, timezone: calendar.timezone });
  // The schema's test validates the fields.
  return response as unknown as described.UsageView;
}

/** Spend on each day of the span, by the report row's key. */
export async function usageTrends(
  sources: Sources,
  { group_by, ...query }: Input<typeof described.usageTrends>,
): Promise<described.UsageTrendsView> {
  const asked = await queryOf(sources, query);
  // The schema admits no other.
  const groupBy = group_by as Exclude<Grouping, 'day'>;
  const trends = await trendsOf(sources.db, sources.calendar, { ...asked, groupBy });
  const data = trends && [...trends].map(([key, costs]) => ({ key, cost_nano_usd: costs }));
  return { object: 'usage_trends', data: data ?? null };
}

/** Throws GwError 400. */
function groupByOf(text: string): GroupBy {
  const groupBy = parseGroupBy(text);
  if (groupBy) return groupBy;
  throw badRequest(`"group_by" is "${text}": use ${GROUP_CHOICES}`, 'group_by');
}

async function queryOf(
  sources: Sources,
  { from, to, month, source, ...conditions }: Omit<Input<typeof described.usageTrends>, 'group_by'>,
) {
  const span = usageSpan({ from, to, month }, sources.calendar.dateOf(sources.now()));
  return {
    ...(await conditionsOf(sources, conditions)),
    source: usageSourceOf(source, conditions.status),
    ...span,
  };
}
