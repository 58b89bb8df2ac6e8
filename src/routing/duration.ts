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
