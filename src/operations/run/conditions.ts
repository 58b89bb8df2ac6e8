import { badRequest } from '../../errors.ts';
import { parseRequestId, type RequestId } from '../../ids.ts';
import { parseLabels } from '../../labels.ts';
import { listKeys } from '../../store/accounts/keys.ts';
import type { Db } from '../../store/database/open.ts';
import { USAGE_SOURCES, type UsageConditions, type UsageQuery } from '../../store/reports/query.ts';
import type { RequestConditions } from '../schemas/requests.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { parseStatus, STATUS_NAMES, type StatusFilter } from '../status-filter.ts';

/** The conditions as the store takes them. Throws GwError 400, 403 and 404. */
export async function conditionsOf(
  { db, scope }: Pick<Sources, 'db' | 'scope'>,
  { project_id, model, key, agent, session, repo, label, status }: RequestConditions,
): Promise<UsageConditions> {
  const projectId = projectToRead(db, scope, project_id);
  const keyIds = key === undefined ? undefined : await keyIdsOf(db, key, projectId);
  const labels = label === undefined ? undefined : parseLabels(label, 'label');
  return { projectId, model, keyIds, agent, session, repo, labels, ...statusOf(status) };
}

/** The keys with a label, or else the one with that id; revoked ones too. */
async function keyIdsOf(db: Db, text: string, projectId: number | undefined): Promise<number[]> {
  const keys = await listKeys(db, projectId);
  const labelled = keys.filter(({ label }) => label === text);
  return (labelled.length > 0 ? labelled : keys.filter(({ id }) => String(id) === text)).map(({ id }) => id);
}

/** Throws GwError 400. */
export function statusOf(text: string | undefined): StatusFilter {
  const status = text === undefined ? {} : parseStatus(text);
  if (status) return status;
  throw badRequest(
    `status "${text}" is neither an HTTP status nor one of: ${STATUS_NAMES.join(', ')}`,
    'status',
  );
}

/** The store's source of usage; undefined for gw's own requests. Throws GwError 400. */
export function usageSourceOf(text: string | undefined, status: string | undefined): UsageQuery['source'] {
  const source = USAGE_SOURCES.find((each) => each === (text || 'gw'));
  if (!source) throw badRequest(`source "${text}" is none of: ${USAGE_SOURCES.join(', ')}`, 'source');
  if (source === 'gw') return undefined;
  if (status === undefined) return source;
  throw badRequest(`imported usage has no status: use source ${source} without "status"`, 'source');
}

/** The request id in a cursor; its page excludes that request. Throws GwError 400. */
export function cursorId(text: string | undefined, whence: string): RequestId | undefined {
  const id = text === undefined ? undefined : parseRequestId(text);
  if (text !== undefined && id === undefined)
    throw badRequest(`"cursor" is "${text}": use ${whence}`, 'cursor');
  return id;
}
