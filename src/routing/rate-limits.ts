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

const PART = /(?<![\d.])(\d+(?:\.\d+)?)\s*(milliseconds?|ms|minutes?|seconds?|hours?|days?|[dhms])/gi;
const UNIT_MS: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };
const HTTP_DATE = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s.*\d\d:\d\d:\d\d/i;
const ISO_DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** Parses a duration such as `6m0s`, `1h2m3.5s`, `20ms` or `7 seconds` into milliseconds; undefined if invalid. */
export function parseDuration(text: string): number | undefined {
  const parts = [...text.matchAll(PART)];
  if (parts.length === 0 || text.replace(PART, '').trim() !== '') return undefined;
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * unitMs(unit.toLowerCase()), 0);
}

function unitMs(unit: string): number {
  return unit === 'ms' || unit.startsWith('milli') ? 1 : (UNIT_MS[unit.charAt(0)] ?? 0);
}

/** Parses a non-negative decimal number; undefined for other text. */
export function parseCount(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

/**
 * Milliseconds until an HTTP date or an ISO 8601 instant; 0 if it is past. Undefined for other text: Date.parse alone
 * would accept "-1" as a year and "later 3" as a day in March.
 */
export function untilDate(text: string, nowMs: number): number | undefined {
  if (!HTTP_DATE.test(text) && !ISO_DATE.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
