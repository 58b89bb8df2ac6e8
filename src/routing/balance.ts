/** What is known of a target's speed. */
export interface Load {
  /** Moving average of the time to first byte, in milliseconds; undefined before the first answer. */
  averageMs?: number;
  /** When the average was last fed. */
  fedAtMs: number;
  inFlight: number;
}

/** The average forgets by half in about 7 s, so that a target that was slow is asked again now and then. */
const DECAY_MS = 10_000;
const UNKNOWN_MS = 1_000;

export function newLoad(): Load {
  return { fedAtMs: 0, inFlight: 0 };
}

/** Feeds a time to first byte. A slower one counts at once, a faster one gradually: caution is cheap. */
export function feed(load: Load, ttfbMs: number, nowMs: number): void {
  const average = load.averageMs ?? 0;
  const kept = Math.exp(-Math.max(0, nowMs - load.fedAtMs) / DECAY_MS);
  load.averageMs = ttfbMs > average ? ttfbMs : average * kept + ttfbMs * (1 - kept);
  load.fedAtMs = nowMs;
}

/** What one more request would cost here: the faded average times the queue it joins, less for more weight. */
export function costOf(load: Load, weight: number, nowMs: number): number {
  const faded = Math.exp(-Math.max(0, nowMs - load.fedAtMs) / DECAY_MS);
  // A target without an answer yet costs nothing, so it is tried; while it is being tried it is no bargain.
  const unknown = load.inFlight === 0 ? 0 : UNKNOWN_MS;
  const averageMs = load.averageMs === undefined ? unknown : load.averageMs * faded;
  return (averageMs * (load.inFlight + 1)) / weight;
}

/**
 * Power of two choices: two drawn by weight, the cheaper one taken. Against always taking the cheapest of all,
 * requests that decide at the same moment don't all go to one place.
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
