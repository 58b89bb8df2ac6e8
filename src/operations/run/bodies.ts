import { type GwError, messageOf, notFound } from '../../errors.ts';
import { parseRequestId } from '../../ids.ts';
import { removeAnswers } from '../../store/requests/kept-answers.ts';
import {
  KEPT_MS,
  MAX_BODIES_BYTES,
  MAX_BYTES,
  MAX_FILES,
  readBodies,
} from '../../store/requests/kept-bodies.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/bodies.ts';
import type { RequestView } from '../schemas/requests.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { request as readRequest } from './requests.ts';

const MB = 1024 ** 2;

/** The bodies that are kept of a request. Throws GwError 404 that says why there are none. */
export async function requestBodies(
  source: Sources,
  { id }: { id: string },
): Promise<described.RequestBodiesView> {
  const request = await readRequest(source, { id });
  const requestId = parseRequestId(request.id) ?? 0;
  const keptUntil = Date.parse(request.created_at) + KEPT_MS;
  if (source.settings()['requests.keep_bodies'] === 'off')
    throw notKept(
      request,
      'requests.keep_bodies is off. To keep those of later requests for 24 hours, unencrypted: gw config set requests.keep_bodies on',
    );
  if (source.now() >= keptUntil) throw notKept(request, 'it came in more than 24 hours ago');
  const kept = await readBodies(source.bodies, requestId).catch((error) => {
    throw notKept(request, `its file cannot be read: ${messageOf(error)}`);
  });
  if (!kept) throw notKept(request, whyNot(request));
  const { endpoint, client, optimized, sent, sentEndpoint } = kept;
  return {
    object: 'request.bodies',
    id: request.id,
    kept_until: new Date(keptUntil).toISOString(),
    endpoint,
    client,
    optimized,
    sent,
    sent_endpoint: sentEndpoint,
  };
}

function whyNot({ id, outcome, saved_tokens }: RequestView): string {
  if (outcome === 'blocked' || outcome === 'refused') return `it was never sent. Why: gw requests ${id}`;
  if (saved_tokens === 0) return `the optimizer left it unchanged. Why: gw requests ${id}`;
  return `it came in before requests.keep_bodies was on, its bodies exceeded ${MAX_BODIES_BYTES / MB} MB, they made room for newer ones (${MAX_BYTES / MB} MB or ${MAX_FILES} requests in all), or the disk was full or too slow (see: gw logs)`;
}

function notKept({ id }: RequestView, why: string): GwError {
  return notFound(`the body of ${id} was not kept: ${why}`, 'bodies_not_kept', 'id');
}

/** Deletes the answers that are kept for replays. */
export async function clearReplays(
  { db, scope, replays }: Sources,
  { project_id }: Input<typeof described.clearReplays>,
): Promise<described.ReplaysView> {
  const { answers, bytes } = await removeAnswers(replays, projectToRead(db, scope, project_id));
  return { object: 'replays.cleared', project_id: project_id ?? null, answers, bytes };
}
