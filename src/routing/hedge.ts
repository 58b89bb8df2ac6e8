/**
 * Hedging: when a target's first content is later than nearly always, a second target is asked too and the faster
 * one is kept. Only for those who asked for it, at most once a request, and for few requests, as both are paid.
 */
export interface Hedging {
  /** The last times to first content of each target, in milliseconds, oldest first. */
  times: Map<string, number[]>;
  requests: number;
  hedges: number;
}

const REMEMBERED = 200;
const MIN_TIMES = 20;
const LATE = 0.95;
const SHARE = 0.02;
/** Clients can name any model of a provider, so there is no end of targets. */
const MAX_TARGETS = 1_000;

export function newHedging(): Hedging {
  return { times: new Map(), requests: 0, hedges: 0 };
}

/** Counts a request that might have been hedged, and how long its first content took. */
export function countTime(hedging: Hedging, target: string, contentMs: number): void {
  const times = hedging.times.get(target) ?? [];
  if (times.length === 0 && hedging.times.size >= MAX_TARGETS) hedging.times.clear();
  times.push(contentMs);
  if (times.length > REMEMBERED) times.shift();
  hedging.times.set(target, times);
  hedging.requests++;
}

/** After how long a second target may be asked; undefined while too little is known. */
export function hedgeAfterMs(hedging: Hedging, target: string): number | undefined {
  const times = hedging.times.get(target) ?? [];
  if (times.length < MIN_TIMES) return undefined;
  return [...times].sort((a, b) => a - b)[Math.floor(LATE * times.length)];
}

/** Takes one hedge from the 2 % that are allowed; false if there is none left. */
export function takeHedge(hedging: Hedging): boolean {
  if (hedging.hedges + 1 > SHARE * hedging.requests) return false;
  hedging.hedges++;
  return true;
}
