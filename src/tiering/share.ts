import type { Tier } from '../routing/tier.ts';

/** The last scores of a project's requests, oldest first. */
export type ScoreWindow = number[];

const WINDOW = 500;
const MIN_SCORES = 20;

/** Adds a score to the window, in place. */
export function observe(window: ScoreWindow, score: number): void {
  window.push(score);
  if (window.length > WINDOW) window.shift();
}

/**
 * Which tier a score takes so that `share` of the requests goes to the strong one, and the threshold to tell people;
 * undefined while too few scores were seen. `tieBreak` in [0,1) places a score among equal ones; a hash of the
 * conversation keeps the answer the same when it is asked again.
 */
export function tierByShare(
  window: ScoreWindow,
  { score, share, tieBreak }: { score: number; share: number; tieBreak: number },
): { tier: Tier; threshold: number } | undefined {
  if (window.length < MIN_SCORES) return undefined;
  let below = 0;
  let equal = 0;
  for (const seen of window) {
    if (seen < score) below++;
    else if (seen === score) equal++;
  }
  // The score stands among its equals itself, so that the rank is below 1 and a share of 0 sends nothing up.
  const rank = (below + tieBreak * (equal + 1)) / (window.length + 1);
  return { tier: rank >= 1 - share ? 'strong' : 'weak', threshold: quantile(window, 1 - share) };
}

function quantile(window: ScoreWindow, share: number): number {
  const sorted = Float64Array.from(window).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 1;
}

/** From 80 % of a cap the strong share falls in a line, and from 95 % on it is nothing. */
export function shareUnderPressure(share: number, spentOfCap: number): number {
  const left = (0.95 - spentOfCap) / (0.95 - 0.8);
  return share * Math.min(1, Math.max(0, left));
}
