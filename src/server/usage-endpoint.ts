import { addDays, type Calendar, isDate } from '../calendar.ts';
import { badRequest, budgetForbidden, notFound } from '../errors.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { Db } from '../store/database/open.ts';
import type { Grouping, UsageQuery } from '../store/reports/query.ts';
import { GROUPINGS } from '../store/reports/query.ts';
import { usageReport } from '../store/reports/usage-report.ts';
import { usageResponse } from '../store/reports/usage-response.ts';

const DEFAULT_DAYS = 30;

export interface UsageContext {
  db: Db;
  calendar: Calendar;
  now: number;
  findProject: (name: string) => { id: number; name: string } | undefined;
}

/** `GET /v1/usage`: a report from the rollups. Throws GwError 400, 403 and 404. */
export async function usageEndpoint(caller: Caller, query: Record<string, string>, context: UsageContext) {
  const { calendar, now } = context;
  const to = parseDate(query.to, 'to') ?? calendar.dateOf(now);
  const from = parseDate(query.from, 'from') ?? addDays(to, 1 - DEFAULT_DAYS);
  if (from > to) throw badRequest(`"from" (${from}) is after "to" (${to})`, 'from');
  const project = projectOf(caller, query.project_id, context);
  const usageQuery: UsageQuery = {
    from,
    to,
    groupBy: parseGrouping(query.group_by),
    ...(project ? { projectId: project.id } : {}),
  };
  const report = await usageReport(context.db, calendar, usageQuery);
  return usageResponse(report, {
    ...usageQuery,
    project: project?.name ?? null,
    timezone: calendar.timezone,
  });
}

function parseDate(value: string | undefined, name: string): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (!isDate(value)) throw badRequest(`"${name}" is "${value}": use a date of the form YYYY-MM-DD`, name);
  return value;
}

function parseGrouping(value: string | undefined): Grouping {
  if (value === undefined || value === '') return 'day';
  const groupBy = GROUPINGS.find((each) => each === value);
  if (!groupBy) throw badRequest(`"group_by" is "${value}": use one of ${GROUPINGS.join(', ')}`, 'group_by');
  return groupBy;
}

function projectOf(caller: Caller, name: string | undefined, { findProject }: UsageContext) {
  if (name === undefined || name === '') {
    return caller.admin ? undefined : { id: caller.projectId, name: caller.project };
  }
  const project = findProject(name);
  if (!project)
    throw notFound(
      `no project "${name}". See: gw projects list. To make it: gw projects add ${name}`,
      'project_not_found',
      'project_id',
    );
  if (project.id !== caller.projectId && !caller.admin) {
    throw budgetForbidden(
      `this key belongs to project ${caller.project} and sees only its usage`,
      'project_id',
    );
  }
  return project;
}
