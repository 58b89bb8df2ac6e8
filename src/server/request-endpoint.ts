import { notFound } from '../errors.ts';
import { parseRequestId } from '../ids.ts';
import type { Caller } from '../store/accounts/callers.ts';
import type { Db } from '../store/database/open.ts';
import { getRequest, type LoggedRequest } from '../store/requests/request-log.ts';

/** A request that the caller may see. Throws GwError 404. */
export async function ownRequest(caller: Caller, id: string, db: Db): Promise<LoggedRequest> {
  const requestId = parseRequestId(id);
  const request = requestId === undefined ? undefined : await getRequest(db, requestId);
  if (!request || (request.project !== caller.project && !caller.admin)) {
    throw notFound(`no request "${id}". See: gw requests`, 'request_not_found', 'id');
  }
  return request;
}
