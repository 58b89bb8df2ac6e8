import type { Tier } from '../routing/tier.ts';

/** Latest scores of a project's requests, oldest first. */
export type ScoreWindow = number[];

const WINDOW = 500;
const MIN_SCORES = 20;

/** Appends a score to the window, in place. */
export function observe(window: ScoreWindow, score: number): void {
  window.push(score);
  if (window.length > WINDOW) window.shift();
}

/**
 * The tier of a score such that `share` of the requests go to the strong tier, and the threshold for display.
 * Undefined while there are too few scores. `tieBreak` in [0,1) ranks a score among equal ones; a hash of the
 * conversation makes the decision repeatable.
 */
export function tierByShare(
  window: ScoreWindow,
  { score, share, tieBreak }: { score: number; share: number; tieBreak: number },
): { tier: Tier; threshold: number } | undefined {
  if (window.length < MIN_SCORES) return undefined;
  let below = 0;
  let equal = 0;
  for (const other of window) {
    if (other < score) below++;
    else if (other === score) equal++;
  }
  // The score counts among its equals, so the rank is below 1 and a share of 0 sends nothing to the strong tier.
  const rank = (below + tieBreak * (equal + 1)) / (window.length + 1);
  return { tier: rank >= 1 - share ? 'strong' : 'weak', threshold: quantile(window, 1 - share) };
}

function quantile(window: ScoreWindow, share: number): number {
  const sorted = Float64Array.from(window).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 1;
}

/** Reduces the strong share linearly from 80 % of the cap on; at 95 % it is 0. */
export function shareUnderPressure(share: number, spentOfCap: number): number {
  const left = (0.95 - spentOfCap) / (0.95 - 0.8);
  return share * Math.min(1, Math.max(0, left));
}
