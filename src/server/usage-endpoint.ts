import type { Calendar } from '../calendar.ts';
import { badRequest, notFound } from '../errors.ts';
import { mustBeOwn } from '../own-project.ts';
import { conditionsOf, usageSourceOf } from '../reading/local/request-conditions.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { Db } from '../store/database/open.ts';
import { GROUP_BYS, GROUP_CHOICES, type GroupBy } from '../store/reports/query.ts';
import { usageReport } from '../store/reports/usage-report.ts';
import { usageResponse } from '../store/reports/usage-response.ts';
import { usageSpan } from './usage-span.ts';

export interface UsageContext {
  db: Db;
  calendar: Calendar;
  now: number;
  findProject: (name: string) => { id: number; name: string } | undefined;
}

/** `GET /v1/usage`: a report from the rollups. Throws GwError 400, 403 and 404. */
export async function usageEndpoint(caller: Caller, query: Record<string, string>, context: UsageContext) {
  const { db, calendar, now } = context;
  const span = usageSpan(query, calendar.dateOf(now));
  const project = projectOf(caller, query.project_id, context);
  const { model, key, agent, session, repo, status } = query;
  const conditions = await conditionsOf({ db, scope: caller }, { model, key, agent, session, repo, status });
  const usageQuery = {
    ...conditions,
    ...span,
    source: usageSourceOf(query.source, status),
    groupBy: parseGrouping(query.group_by),
    projectId: project?.id,
  };
  const report = await usageReport(db, calendar, usageQuery);
  return usageResponse(report, {
    ...usageQuery,
    project: project?.name ?? null,
    timezone: calendar.timezone,
  });
}

function parseGrouping(value: string | undefined): GroupBy {
  if (value === undefined || value === '') return 'day';
  const groupBy = GROUP_BYS.find((each) => each === value);
  if (!groupBy) throw badRequest(`"group_by" is "${value}": use ${GROUP_CHOICES}`, 'group_by');
  return groupBy;
}

function projectOf(caller: Caller, name: string | undefined, { findProject }: UsageContext) {
  if (name === undefined || name === '') {
    return caller.admin ? undefined : { id: caller.projectId, name: caller.project };
  }
  mustBeOwn(caller, name, 'project_id');
  const project = findProject(name);
  if (!project)
    throw notFound(
      `no project "${name}". See: gw projects list. To make it: gw projects add ${name}`,
      'project_not_found',
      'project_id',
    );
  return project;
}
