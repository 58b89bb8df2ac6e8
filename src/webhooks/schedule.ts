import type { Random } from '../ids.ts';

/** Waits after the first, second and third failed attempt. After the fourth the delivery has failed. */
export const RETRY_DELAYS_MS = [1_000, 5_000, 30_000] as const;

/** A receiver that asks for patience gets it, within reason: what is behind in its queue waits too. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;
const MAX_JITTER = 0.1;

/** How long to wait after failed attempt number `attempt` (1 is the first); undefined if it was the last. */
export function retryDelayMs(attempt: number, retryAfterMs: number, random: Random): number | undefined {
  const delay = RETRY_DELAYS_MS[attempt - 1];
  if (delay === undefined) return undefined;
  // Endpoints that failed together do not come back together.
  const jitter = (random(4).readUInt32BE() / 2 ** 32) * MAX_JITTER;
  return Math.max(Math.round(delay * (1 + jitter)), Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
}

/** The wait that a `retry-after` header asks for: seconds or an HTTP date; 0 if there is none that can be read. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number {
  if (value === undefined) return 0;
  const text = value.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const date = /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - nowMs);
}
