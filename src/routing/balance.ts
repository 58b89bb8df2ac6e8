/** A target's response time and queue. */
export interface Load {
  /** Moving average of the time to first byte, in milliseconds; undefined before the first answer. */
  averageMs?: number;
  /** When the average was last updated. */
  updatedAtMs: number;
  inFlight: number;
}

/** Time constant of the average. Its half-life is about 7 s, so that a slow target is retried now and then. */
const DECAY_MS = 10_000;
const UNMEASURED_MS = 1_000;

export const newLoad = (): Load => ({ updatedAtMs: 0, inFlight: 0 });

/** Updates the average with a time to first byte. A slower one counts at once, a faster one gradually (peak EWMA). */
export function recordTtfb(load: Load, ttfbMs: number, nowMs: number): void {
  const average = load.averageMs ?? 0;
  const decay = Math.exp(-Math.max(0, nowMs - load.updatedAtMs) / DECAY_MS);
  load.averageMs = ttfbMs > average ? ttfbMs : average * decay + ttfbMs * (1 - decay);
  load.updatedAtMs = nowMs;
}

/** Cost of one more request: the decayed average times the queue it would join, divided by the weight. */
export function costOf(load: Load, weight: number, nowMs: number): number {
  const decay = Math.exp(-Math.max(0, nowMs - load.updatedAtMs) / DECAY_MS);
  // An unmeasured target costs nothing, so that it is tried. While its first request runs, it counts as slow.
  const assumedMs = load.inFlight === 0 ? 0 : UNMEASURED_MS;
  const averageMs = load.averageMs === undefined ? assumedMs : load.averageMs * decay;
  return (averageMs * (load.inFlight + 1)) / weight;
}

/**
 * Power of two choices: draws two items by weight and takes the cheaper one. Always taking the cheapest would send all
 * simultaneous requests to the same target.
 */
export function pickOfTwo<T>(
  items: readonly T[],
  {
    weightOf,
    cost,
    random,
  }: { weightOf: (item: T) => number; cost: (item: T) => number; random: () => number },
): T | undefined {
  const first = draw(items, weightOf, random);
  if (first === undefined) return undefined;
  const second = draw(
    items.filter((item) => item !== first),
    weightOf,
    random,
  );
  return second !== undefined && cost(second) < cost(first) ? second : first;
}

function draw<T>(items: readonly T[], weightOf: (item: T) => number, random: () => number): T | undefined {
  const total = items.reduce((sum, item) => sum + weightOf(item), 0);
  let left = random() * total;
  for (const item of items) {
    left -= weightOf(item);
    if (left < 0) return item;
  }
  return items.at(-1);
}
