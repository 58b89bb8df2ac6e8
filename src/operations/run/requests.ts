import { notFound } from '../../errors.ts';
import { parseRequestId } from '../../ids.ts';
import { findProject } from '../../store/accounts/projects.ts';
import * as store from '../../store/archive/delete-records.ts';
import { createRequestFollower } from '../../store/dashboard/follow-requests.ts';
import { removeAnswers } from '../../store/requests/kept-answers.ts';
import { removeUnrecorded } from '../../store/requests/kept-bodies.ts';
import {
  getRequest,
  type LoggedRequest,
  listRequests,
  type RequestFilter,
  requestResponse,
} from '../../store/requests/request-log.ts';
import type { Input } from '../operation.ts';
import type { Follower } from '../reader.ts';
import type * as described from '../schemas/requests.ts';
import type { RequestConditions, RequestView } from '../schemas/requests.ts';
import { projectToRead, type Sources } from '../sources.ts';
import type { StatusFilter } from '../status-filter.ts';
import { parseTime } from '../times.ts';
import { conditionsOf, cursorId, statusOf } from './conditions.ts';
import { removeTraining } from './projects.ts';

/** The newest matching requests, newest first. */
export async function requestPage(sources: Sources, query: Input<typeof described.requestPage>) {
  const { limit = 50 } = query;
  const found = await readRequests(sources, { ...query, limit: limit + 1 });
  const data = found.slice(0, limit);
  return {
    object: 'list' as const,
    data,
    next_cursor: found.length > limit ? (data.at(-1)?.id ?? null) : null,
  };
}

async function readRequests(
  source: Sources,
  { since, until, cursor, limit = 50, ...query }: Input<typeof described.requestPage>,
): Promise<RequestView[]> {
  const before = cursorId(cursor, 'next_cursor of the page before');
  const { outcomes = [undefined], ...conditions } = await conditionsOf(source, query);
  if (conditions.keyIds?.length === 0) return [];
  const span = { since: parseTime(since), until: parseTime(until) };
  const filter: RequestFilter = { ...conditions, ...span, before, limit };
  // A list for each outcome: only so an index serves them.
  const lists = await Promise.all(
    outcomes.map((outcome) => listRequests(source.db, outcome ? { ...filter, outcomes: [outcome] } : filter)),
  );
  return lists
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, limit)
    .map(viewOf);
}

/** One request. Throws GwError 404. */
export async function request({ db, scope }: Sources, { id }: { id: string }): Promise<RequestView> {
  const requestId = parseRequestId(id);
  const request = requestId === undefined ? undefined : await getRequest(db, requestId);
  if (!request || (request.project !== scope.project && !scope.admin))
    throw notFound(`no request ${id}. See: gw requests`, 'request_not_found', 'id');
  return viewOf(request);
}

export async function deleteRecords(
  { db, change, now, bodies, replays, home }: Sources,
  { project_id, session_id }: Input<typeof described.deleteRecords>,
) {
  const records = { projectId: findProject(db, project_id), session: session_id, before: now() + 1 };
  let deleted = 0;
  for (;;) {
    const count = await change(async () => store.deleteRecords(db, records));
    if (count === 0) break;
    deleted += count;
  }
  await removeUnrecorded(bodies, db);
  await removeAnswers(replays, records.projectId);
  if (session_id === undefined) removeTraining(home, project_id);
  return { object: 'requests.deleted', project_id, session_id: session_id ?? null, deleted };
}

/** Follows matching requests, on the connection for polling. */
export async function followMatching(
  { scope, now, pollDb }: Sources,
  query: Pick<RequestConditions, 'project_id' | 'status'>,
): Promise<Follower<RequestView>> {
  const db = await pollDb();
  projectToRead(db, scope, query.project_id);
  const project = query.project_id ?? (scope.admin ? undefined : scope.project);
  const status = statusOf(query.status);
  const follower = createRequestFollower(db, now());
  return {
    async next() {
      const requests = await follower.next(now());
      return requests.filter((request) => matches(request, status, project)).map(viewOf);
    },
  };
}

function matches(
  request: LoggedRequest,
  { status, outcomes, isFallback }: StatusFilter,
  project: string | undefined,
) {
  if (project !== undefined && request.project !== project) return false;
  if (status !== undefined && request.status !== status) return false;
  if (isFallback && !request.flags.includes('fallback')) return false;
  return outcomes === undefined || outcomes.includes(request.outcome);
}

const viewOf = (request: LoggedRequest): RequestView => requestResponse(request);
