import { notFound } from '../../errors.ts';
import { parseRequestId } from '../../ids.ts';
import { createRequestFollower } from '../../store/dashboard/follow-requests.ts';
import type { Db } from '../../store/database/open.ts';
import {
  getRequest,
  type LoggedRequest,
  listRequests,
  type RequestFilter,
  requestResponse,
} from '../../store/requests/request-log.ts';
import type { Follower, RequestsFilter, RequestsQuery } from '../reader.ts';
import type { RequestView } from '../schemas.ts';
import type { StatusFilter } from '../status-filter.ts';
import { conditionsOf, statusOf } from './request-conditions.ts';
import { projectToRead, type Scope } from './scope.ts';

interface Source {
  db: Db;
  scope: Scope;
}

/** The newest matching requests, newest first. */
export async function readRequests(source: Source, query: RequestsQuery): Promise<RequestView[]> {
  const { since, until, before, limit } = query;
  const { outcomes = [undefined], ...conditions } = await conditionsOf(source, query);
  if (limit === 0 || conditions.keyIds?.length === 0) return [];
  const filter: RequestFilter = { ...conditions, since, until, before, limit };
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
export async function readRequest({ db, scope }: Source, id: string): Promise<RequestView> {
  const requestId = parseRequestId(id);
  const request = requestId === undefined ? undefined : await getRequest(db, requestId);
  if (!request || (request.project !== scope.project && !scope.admin)) {
    throw notFound(`no request ${id}. See: gw requests`, 'request_not_found', 'id');
  }
  return viewOf(request);
}

/** Follows matching requests. Needs a connection that writes nothing itself. */
export function followMatching(
  { db, scope }: Source,
  query: Pick<RequestsFilter, 'project' | 'status'>,
  now: () => number,
): Follower<RequestView> {
  projectToRead(db, scope, query.project);
  const project = query.project ?? (scope.admin ? undefined : scope.project);
  const status = statusOf(query.status);
  const follower = createRequestFollower(db, now());
  return {
    async next() {
      const requests = await follower.next(now());
      return requests.filter((request) => matches(request, status, project)).map(viewOf);
    },
  };
}

function matches(request: LoggedRequest, { status, outcomes }: StatusFilter, project: string | undefined) {
  if (project !== undefined && request.project !== project) return false;
  if (status !== undefined && request.status !== status) return false;
  return outcomes === undefined || outcomes.includes(request.outcome);
}

const viewOf = (request: LoggedRequest): RequestView => requestResponse(request, { nano: true });
