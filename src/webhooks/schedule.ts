import type { Random } from '../ids.ts';

/** Delays after the first, second and third failed attempt. After the fourth, the delivery fails. */
const RETRY_DELAYS_MS = [1_000, 5_000, 30_000] as const;

const MAX_JITTER = 0.1;

/**
 * The delay after failed attempt number `attempt`, counted from 1; undefined if it was the last. A receiver's `retry-after`
 * doesn't count: it would hold back the alerts behind.
 */
export function retryDelayMs(attempt: number, random: Random): number | undefined {
  const delay = RETRY_DELAYS_MS[attempt - 1];
  if (delay === undefined) return undefined;
  // Jitter keeps endpoints that failed together from retrying together.
  const jitter = (random(4).readUInt32BE() / 2 ** 32) * MAX_JITTER;
  return Math.round(delay * (1 + jitter));
}
