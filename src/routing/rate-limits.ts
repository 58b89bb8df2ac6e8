import { parseCount, parseDuration, untilDate } from './duration.ts';

/** Response headers, names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** A rate limit that a response's headers report. */
export interface Limit {
  /** Undefined when the header is missing or not a number. */
  remaining?: number;
  /** Milliseconds until the limit resets. */
  resetMs: number;
}

const RESET_NAMES = [/^x-ratelimit-reset()(-.+)?$/, /^anthropic-ratelimit-(.+)-reset()$/] as const;

/**
 * All rate limits with a reset header: x-ratelimit-reset, x-ratelimit-reset-requests, -tokens (OpenAI, Azure,
 * OpenRouter) and anthropic-ratelimit-requests-reset, -tokens-reset and so on.
 */
export function limitsOf(headers: ResponseHeaders, nowMs: number): Limit[] {
  const limits: Limit[] = [];
  for (const [name, value] of Object.entries(headers)) {
    const remainingName = remainingNameOf(name);
    const resetMs = remainingName === undefined ? undefined : parseReset(value ?? '', nowMs);
    if (remainingName === undefined || resetMs === undefined) continue;
    const remaining = parseCount(headers[remainingName]);
    limits.push({ resetMs, ...(remaining === undefined ? {} : { remaining }) });
  }
  return limits;
}

/** Milliseconds until no limit is exhausted; undefined while none is. Successful responses may report this too. */
export function exhaustedMs(headers: ResponseHeaders, nowMs: number): number | undefined {
  const waits = limitsOf(headers, nowMs).filter(({ remaining }) => remaining === 0);
  return waits.length === 0 ? undefined : Math.max(...waits.map(({ resetMs }) => resetMs));
}

function remainingNameOf(resetName: string): string | undefined {
  const [generic, anthropic] = RESET_NAMES.map((pattern) => pattern.exec(resetName));
  if (generic) return `x-ratelimit-remaining${generic[2] ?? ''}`;
  return anthropic ? `anthropic-ratelimit-${anthropic[1]}-remaining` : undefined;
}

/** A reset is a duration (`6m0s`), a date, seconds from now, or a Unix time in seconds or milliseconds. */
function parseReset(value: string, nowMs: number): number | undefined {
  const number = parseCount(value);
  if (number === undefined) return parseDuration(value) ?? untilDate(value, nowMs);
  if (number > 1e12) return Math.max(0, number - nowMs);
  if (number > 1e9) return Math.max(0, number * 1_000 - nowMs);
  return number * 1_000;
}
