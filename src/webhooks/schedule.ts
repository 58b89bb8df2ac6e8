import type { Random } from '../ids.ts';

/** Delays after the first, second and third failed attempt. After the fourth, the delivery fails. */
const RETRY_DELAYS_MS = [1_000, 5_000, 30_000] as const;

/** Limit for `retry-after`, because the rest of the endpoint's queue waits as well. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;
const MAX_JITTER = 0.1;

/** The delay after failed attempt number `attempt`, counted from 1; undefined if it was the last. */
export function retryDelayMs(attempt: number, retryAfterMs: number, random: Random): number | undefined {
  const delay = RETRY_DELAYS_MS[attempt - 1];
  if (delay === undefined) return undefined;
  // Jitter keeps endpoints that failed together from retrying together.
  const jitter = (random(4).readUInt32BE() / 2 ** 32) * MAX_JITTER;
  return Math.max(Math.round(delay * (1 + jitter)), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}

/** Parses a `retry-after` header, seconds or an HTTP date, to milliseconds; 0 if absent or invalid. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number {
  if (value === undefined) return 0;
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const date = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - nowMs);
}
