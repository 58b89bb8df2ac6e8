import { notFound } from '../errors.ts';
import { formatRequestId, parseRequestId } from '../ids.ts';
import { usdNumber } from '../money.ts';
import type { Caller } from '../store/callers.ts';
import type { Db } from '../store/open.ts';
import { getRequest, type LoggedRequest } from '../store/request-log.ts';

/** `GET /v1/requests/{id}`: one request record. A project key sees its own project's. Throws GwError 404. */
export async function requestEndpoint(caller: Caller, id: string, db: Db): Promise<Record<string, unknown>> {
  const parsed = parseRequestId(id);
  const found = parsed === undefined ? undefined : await getRequest(db, parsed);
  if (!found || (found.project !== caller.project && !caller.admin)) {
    throw notFound(`no request "${id}". See: gw requests`, 'request_not_found', 'id');
  }
  return requestJson(found);
}

/** A request record as JSON shows it. */
export function requestJson(request: LoggedRequest): Record<string, unknown> {
  return {
    object: 'request',
    id: formatRequestId(request.id),
    created_at: new Date(request.timeMs).toISOString(),
    project_id: request.project,
    endpoint: request.endpoint,
    provider: request.provider,
    model: request.model,
    asked_model: request.askedModel,
    status: request.status,
    outcome: request.outcome,
    flags: request.flags,
    input_tokens: request.inputTokens,
    cached_input_tokens: request.cachedInputTokens,
    cache_write_tokens: request.cacheWriteTokens,
    output_tokens: request.outputTokens,
    reasoning_tokens: request.reasoningTokens,
    saved_tokens: request.savedTokens,
    cost_usd: request.flags.includes('unpriced') ? null : usdNumber(request.costNanoUsd),
    saved_usd: usdNumber(request.savedNanoUsd),
    held_usd: usdNumber(request.holdNanoUsd),
    duration_ms: request.durationMs,
    first_byte_ms: request.firstByteMs,
    detail: request.detail,
  };
}
