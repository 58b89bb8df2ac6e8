import { parseCount, parseDuration, untilDate } from './duration.ts';

/** Response headers, names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | undefined>>;

/** One of the limits that an answer's headers tell of. */
export interface Limit {
  /** Undefined where the header is missing or no number. */
  remaining?: number;
  /** Milliseconds until there is room again. */
  resetMs: number;
}

const RESET_NAMES = [/^x-ratelimit-reset()(-.+)?$/, /^anthropic-ratelimit-(.+)-reset()$/] as const;

/**
 * Every limit whose reset is told: x-ratelimit-reset, x-ratelimit-reset-requests, -tokens (OpenAI, Azure,
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

/** Until when a limit is used up; undefined while there is room in all. Any answer may tell, also a good one. */
export function usedUpMs(headers: ResponseHeaders, nowMs: number): number | undefined {
  const waits = limitsOf(headers, nowMs).filter(({ remaining }) => remaining === 0);
  return waits.length === 0 ? undefined : Math.max(...waits.map(({ resetMs }) => resetMs));
}

function remainingNameOf(resetName: string): string | undefined {
  const [generic, anthropic] = RESET_NAMES.map((pattern) => pattern.exec(resetName));
  if (generic) return `x-ratelimit-remaining${generic[2] ?? ''}`;
  return anthropic ? `anthropic-ratelimit-${anthropic[1]}-remaining` : undefined;
}

/** A reset is a duration (`6m0s`), a date, seconds from now, or an instant in seconds or milliseconds. */
function parseReset(value: string, nowMs: number): number | undefined {
  const number = parseCount(value);
  if (number === undefined) return parseDuration(value) ?? untilDate(value, nowMs);
  if (number > 1e12) return Math.max(0, number - nowMs);
  if (number > 1e9) return Math.max(0, number * 1_000 - nowMs);
  return number * 1_000;
}
