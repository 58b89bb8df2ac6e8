import { badRequest, notFound } from '../errors.ts';
import { parseRequestId } from '../ids.ts';
import { listKeys } from '../store/accounts/keys.ts';
import { createRequestFollower } from '../store/dashboard/follow-requests.ts';
import type { Db } from '../store/database/open.ts';
import {
  getRequest,
  type LoggedRequest,
  listRequests,
  type RequestFilter,
} from '../store/requests/request-log.ts';
import { requestResponse } from '../store/requests/request-response.ts';
import type { Follower, RequestsFilter, RequestsQuery } from './reader.ts';
import type { RequestView } from './schemas.ts';
import { projectToRead, type Scope } from './scope.ts';
import { parseStatus, STATUS_NAMES, type StatusFilter } from './status-filter.ts';

interface Source {
  db: Db;
  scope: Scope;
}

/** The newest matching requests, newest first. */
export async function readRequests(source: Source, query: RequestsQuery): Promise<RequestView[]> {
  if (query.limit === 0) return [];
  const { outcomes, ...status } = statusOf(query.status);
  const filter = { ...(await filterOf(source, query)), ...status };
  if (filter.keyId === null) return [];
  const { keyId, ...rest } = filter;
  const complete: RequestFilter = keyId === undefined ? rest : { ...rest, keyId };
  if (outcomes === undefined) return (await listRequests(source.db, complete)).map(viewOf);
  const lists = await Promise.all(
    outcomes.map((outcome) => listRequests(source.db, { ...complete, outcome })),
  );
  return lists
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, query.limit)
    .map(viewOf);
}

/** `keyId` is null for a key that the scope does not have. */
async function filterOf({ db, scope }: Source, query: RequestsQuery) {
  const { since, until, before, model, key, limit } = query;
  const projectId = projectToRead(db, scope, query.project);
  return {
    limit,
    ...(projectId === undefined ? {} : { projectId }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(before === undefined ? {} : { before }),
    ...(model === undefined ? {} : { model }),
    ...(key === undefined ? {} : { keyId: await keyIdOf(db, key, projectId) }),
  };
}

/** A key by its id, or the newest with its label. */
async function keyIdOf(db: Db, text: string, projectId: number | undefined): Promise<number | null> {
  const keys = await listKeys(db, projectId);
  const byLabel = keys.filter(({ label }) => label === text).at(-1);
  return byLabel?.id ?? keys.find(({ id }) => String(id) === text)?.id ?? null;
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

function statusOf(text: string | undefined): StatusFilter {
  const status = text === undefined ? {} : parseStatus(text);
  if (status) return status;
  throw badRequest(
    `status "${text}" is neither an HTTP status nor one of: ${STATUS_NAMES.join(', ')}`,
    'status',
  );
}

// The schema's test validates the fields.
const viewOf = (request: LoggedRequest) => requestResponse(request, { nano: true }) as unknown as RequestView;
