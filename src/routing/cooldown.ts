import { parseCount, parseDuration, untilDate } from './duration.ts';
import { exhaustedMs, limitsOf, type ResponseHeaders } from './rate-limits.ts';
import { readUpstreamError } from './upstream-error.ts';

/** Cap on what a provider asks for: one day. */
const MAX_COOLDOWN_MS = 86_400_000;
const IN_WORDS = /(?:try again|retry|retry after)\s+(?:in|after)\s+((?:\d+(?:\.\d+)?\s*[a-z]+\s*)+)/i;
const UNITS = /^(?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|minutes?|seconds?|hours?|days?|[dhms])(?![a-z])\s*)+/i;

/**
 * How long to wait after a refusal, in milliseconds from `nowMs` (UTC). Undefined if the upstream states no valid
 * time. The most precise source wins: retry-after-ms, then retry-after, the error message, and the rate limits' resets.
 */
export function cooldownMs(headers: ResponseHeaders, body: unknown, nowMs: number): number | undefined {
  const wait =
    parseCount(headers['retry-after-ms']) ??
    parseCount(headers['x-ms-retry-after-ms']) ??
    retryAfterMs(headers['retry-after'], nowMs) ??
    statedMs(body) ??
    exhaustedMs(headers, nowMs) ??
    soonestResetMs(headers, nowMs);
  return wait === undefined ? undefined : Math.min(wait, MAX_COOLDOWN_MS);
}

/** Retry-After (RFC 9110, 10.2.3): seconds or an HTTP date. */
function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const seconds = parseCount(value);
  return seconds === undefined ? untilDate(value ?? '', nowMs) : seconds * 1_000;
}

/** Gemini's RetryInfo, or "try again in 6m0s", "retry after 20 seconds" in the message (OpenAI, Azure). */
function statedMs(body: unknown): number | undefined {
  const error = readUpstreamError(body);
  if (!error || error.retryDelayMs !== undefined) return error?.retryDelayMs;
  const duration = UNITS.exec(IN_WORDS.exec(error.message)?.[1] ?? '')?.[0];
  return duration === undefined ? undefined : parseDuration(duration);
}

/** The earliest reset, as a guess when no limit is marked as exhausted. */
function soonestResetMs(headers: ResponseHeaders, nowMs: number): number | undefined {
  const resets = limitsOf(headers, nowMs).map(({ resetMs }) => resetMs);
  return resets.length === 0 ? undefined : Math.min(...resets);
}
