import { formatRequestId } from '../../ids.ts';
import { usdNumber } from '../../money.ts';
import type { LoggedRequest } from './request-log.ts';

/** A record as `GET /v1/requests/{id}` and `gw requests --json` return it; `nano` adds the amounts in nano-USD. */
export function requestResponse(request: LoggedRequest, { nano = false } = {}): Record<string, unknown> {
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
    ...(request.folded ? { count: request.folded.count, last_at: timeOf(request.folded.lastAt) } : {}),
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
    ...(nano ? nanoAmounts(request) : {}),
    duration_ms: request.durationMs,
    first_byte_ms: request.firstByteMs,
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

function nanoAmounts({ costNanoUsd, savedNanoUsd, holdNanoUsd }: LoggedRequest): Record<string, number> {
  return { cost_nano_usd: costNanoUsd, saved_nano_usd: savedNanoUsd, held_nano_usd: holdNanoUsd };
}
