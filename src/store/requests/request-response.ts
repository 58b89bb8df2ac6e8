import { formatRequestId } from '../../ids.ts';
import { usdNumber } from '../../money.ts';
import { byColumnName } from '../database/columns.ts';
import { shownAs } from '../ledger/request-columns.ts';
import type { LoggedRequest } from './request-log.ts';

const COUNTS = shownAs('count');
const DURATIONS = shownAs('ms');
const OPTIONAL_DURATIONS = shownAs('msOrNull');

type Response = ReturnType<typeof responseOf>;

/** A record as `GET /v1/requests/{id}` and `gw requests --json` return it; `nano` adds the amounts in nano-USD. */
export function requestResponse(
  request: LoggedRequest,
  options: { nano: true },
): Response & ReturnType<typeof nanoAmounts>;
export function requestResponse(request: LoggedRequest): Response;
export function requestResponse(request: LoggedRequest, { nano = false } = {}): Response {
  return responseOf(request, nano);
}

function responseOf(request: LoggedRequest, nano: boolean) {
  return {
    object: 'request' as const,
    id: formatRequestId(request.id),
    created_at: new Date(request.timeMs).toISOString(),
    project_id: request.project,
    endpoint: request.endpoint,
    provider: request.provider,
    model: request.model,
    asked_model: request.askedModel,
    status: request.status,
    outcome: request.outcome,
    ...(request.folded && {
      count: request.folded.count,
      last_at: new Date(request.folded.lastAt).toISOString(),
    }),
    flags: request.flags,
    ...byColumnName(COUNTS, (name) => request[name]),
    cost_usd: request.flags.includes('unpriced') ? null : usdNumber(request.costNanoUsd),
    saved_usd: usdNumber(request.savedNanoUsd),
    held_usd: usdNumber(request.holdNanoUsd),
    ...(nano && nanoAmounts(request)),
    ...byColumnName(DURATIONS, (name) => request[name]),
    ...byColumnName(OPTIONAL_DURATIONS, (name) => request[name]),
    process: request.process || null,
    repo: request.repo || null,
    key_hint: request.keyHint || null,
    agent: request.agent || null,
    agent_version: request.agentVersion || null,
    session_id: request.session || null,
    source: request.source,
    held_at: timeOf(request.heldAt),
    settled_at: timeOf(request.settledAt),
    timings: {
      body_ms: request.timings.body,
      compressed_ms: request.timings.compressed,
      held_ms: request.timings.held,
      sent_ms: request.timings.sent,
    },
    upstream_message_id: request.upstreamMessageId,
    detail: request.detail,
  };
}

const timeOf = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString();

function nanoAmounts({ costNanoUsd, savedNanoUsd, holdNanoUsd }: LoggedRequest) {
  return { cost_nano_usd: costNanoUsd, saved_nano_usd: savedNanoUsd, held_nano_usd: holdNanoUsd };
}
