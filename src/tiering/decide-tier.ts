import { createHash } from 'node:crypto';
import type { Tier } from '../routing/tier.ts';

export interface TierQuestion {
  /** Predicted need for the strong tier, in [0,1]. */
  score: number;
  window: ScoreWindow;
  /** Target share of requests for the strong tier, if set. */
  share?: number;
  /** Spent share of the tightest budget; 0 without a budget. */
  spentOfCap?: number;
  /** The conversation's key, also used to break ties. */
  conversation: string;
  /** The tier that served the conversation last. */
  pinned?: Tier | undefined;
  inToolLoop?: boolean;
  /** The request carries encrypted reasoning that the other tier's provider can't decrypt. */
  isSealed?: boolean;
  /** Savings of the weak tier on this turn, and the cost of losing the prompt cache. */
  savingNanoUsd?: number;
  cacheLossNanoUsd?: number;
}

export interface TierDecision {
  tier: Tier;
  /** If false, `tier` is only recorded and reported; the request keeps its model. */
  applied: boolean;
  threshold?: number;
  /** The deciding factor besides the score. */
  because: 'needs' | 'tool_loop' | 'sealed' | 'budget' | 'share' | 'sticky' | 'cold_start';
}

/** Share used for decisions if none is set. */
const UNSET_SHARE = 0.5;

/**
 * Decides the tier of a request: a score among the top `share` of recent scores goes to the strong tier. Without a
 * share or enough scores, the decision is only reported. A nearly spent budget reduces the share, and a conversation
 * keeps its tier.
 */
export function decideTier(question: TierQuestion): TierDecision {
  const { pinned, inToolLoop = false, share, spentOfCap = 0 } = question;
  if (inToolLoop && pinned) return { tier: pinned, applied: true, because: 'tool_loop' };
  if (question.isSealed && pinned) return { tier: pinned, applied: true, because: 'sealed' };
  if (share === undefined)
    return { ...byShare(question, UNSET_SHARE), applied: false, because: 'cold_start' };
  const strongShare = shareUnderPressure(share, spentOfCap);
  if (strongShare === 0) return { tier: 'weak', applied: true, because: share === 0 ? 'share' : 'budget' };
  const choice = byShare(question, strongShare);
  const { savingNanoUsd = 0, cacheLossNanoUsd = 0 } = question;
  const tier = tierOfTurn({ pinned, choice: choice.tier, inToolLoop, savingNanoUsd, cacheLossNanoUsd });
  return tier === choice.tier ? choice : { ...choice, tier, because: 'sticky' };
}

function byShare({ window, score, conversation }: TierQuestion, share: number): TierDecision {
  const ranked = tierByShare(window, { score, share, tieBreak: unitHash(conversation) });
  if (!ranked) return { tier: 'strong', applied: false, because: 'cold_start' };
  return { ...ranked, applied: true, because: 'share' };
}

/** Hashes a key to a number in [0,1). */
export function unitHash(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32;
}

type TurnField = 'pinned' | 'inToolLoop' | 'savingNanoUsd' | 'cacheLossNanoUsd';

interface Turn extends Required<Pick<TierQuestion, TurnField>> {
  choice: Tier;
}

/**
 * The tier of a conversation's next turn. It may rise at any turn, and falls only if that saves more than losing the
 * prompt cache costs. It never changes within a tool loop.
 */
export function tierOfTurn(turn: Turn): Tier {
  const { pinned, choice, inToolLoop, savingNanoUsd, cacheLossNanoUsd } = turn;
  if (pinned === undefined || pinned === choice) return choice;
  if (inToolLoop) return pinned;
  if (choice === 'strong') return 'strong';
  return savingNanoUsd > cacheLossNanoUsd ? 'weak' : 'strong';
}

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
 * The tier of a score, such that `share` of the requests go to the strong tier, and the threshold for display.
 * Undefined if there are too few scores. `tieBreak` in [0,1) ranks equal scores; a hash of the conversation makes the
 * decision repeatable.
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
  // Counts the score among its equals, so that the rank is below 1 and a share of 0 sends nothing to the strong tier.
  const rank = (below + tieBreak * (equal + 1)) / (window.length + 1);
  return { tier: rank >= 1 - share ? 'strong' : 'weak', threshold: quantile(window, 1 - share) };
}

function quantile(window: ScoreWindow, share: number): number {
  const sorted = Float64Array.from(window).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 1;
}

/** Reduces the strong share linearly from 80 % of the cap to 0 at 95 %. */
export function shareUnderPressure(share: number, spentOfCap: number): number {
  const left = (0.95 - spentOfCap) / (0.95 - 0.8);
  return share * Math.min(1, Math.max(0, left));
}
