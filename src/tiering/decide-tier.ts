import type { Tier } from '../routing/tier.ts';
import { unitHash } from './conversation-key.ts';
import type { TierScore } from './score.ts';
import { type ScoreWindow, shareUnderPressure, tierByShare } from './share.ts';

export interface TierQuestion {
  scored: TierScore;
  window: ScoreWindow;
  /** The share of requests that the user wants on the strong tier, if one was set. */
  share?: number;
  /** Spent share of the tightest budget; 0 when there is no budget. */
  spentOfCap?: number;
  /** The conversation's key, which also breaks ties. */
  conversation: string;
  /** The tier that served the conversation last. */
  pinned?: Tier | undefined;
  inToolLoop?: boolean;
  /** The request carries encrypted reasoning that the other tier's provider can't decrypt. */
  isSealed?: boolean;
  /** Lowest tier that the request allows; exempt from budget pressure. */
  minTier?: Tier;
  /** What the weak tier would save on this turn, and what losing the prompt cache would cost. */
  savingNanoUsd?: number;
  cacheLossNanoUsd?: number;
}

export interface TierDecision {
  tier: Tier;
  /** When false, `tier` is only recorded and reported; the request keeps the model it names. */
  applied: boolean;
  threshold?: number;
  /** What decided, beyond the score. */
  because:
    | 'needs'
    | 'min_tier'
    | 'tool_loop'
    | 'sealed'
    | 'budget'
    | 'share'
    | 'gain'
    | 'sticky'
    | 'cold_start';
}

/** Expected gain from which the strong tier is worth its price. Used when the user set no share. */
const WORTHWHILE_GAIN = 0.05;
/** Share that a cold start's decision is computed with. */
const UNSET_SHARE = 0.5;

/**
 * Decides which tier serves a request. With a share, scores above the running quantile go to the strong tier. Without
 * one, no decision is applied until the learner has proved itself on the project's labels. A budget that runs low
 * reduces the share, and a conversation keeps its tier.
 */
export function decideTier(question: TierQuestion): TierDecision {
  const { pinned, inToolLoop = false, minTier, share, scored, spentOfCap = 0 } = question;
  if (minTier === 'strong') return { tier: 'strong', applied: true, because: 'min_tier' };
  if (inToolLoop && pinned) return { tier: pinned, applied: true, because: 'tool_loop' };
  if (question.isSealed && pinned) return { tier: pinned, applied: true, because: 'sealed' };
  const coldStart = share === undefined && scored.gain === undefined;
  if (coldStart) return { ...byShare(question, UNSET_SHARE), applied: false, because: 'cold_start' };
  const strongShare = shareUnderPressure(share ?? 1, spentOfCap);
  if (strongShare === 0) return { tier: 'weak', applied: true, because: share === 0 ? 'share' : 'budget' };
  const choice = share === undefined ? byGain(question, strongShare) : byShare(question, strongShare);
  const { savingNanoUsd = 0, cacheLossNanoUsd = 0 } = question;
  const tier = tierOfTurn({ pinned, choice: choice.tier, inToolLoop, savingNanoUsd, cacheLossNanoUsd });
  return tier === choice.tier ? choice : { ...choice, tier, because: 'sticky' };
}

function byShare({ window, scored, conversation }: TierQuestion, share: number): TierDecision {
  const ranked = tierByShare(window, { score: scored.score, share, tieBreak: unitHash(conversation) });
  if (!ranked) return { tier: 'strong', applied: false, because: 'cold_start' };
  return { ...ranked, applied: true, because: 'share' };
}

/** Sends prompts with enough gain to the strong tier, as far as budget pressure allows. */
function byGain(question: TierQuestion, strongShare: number): TierDecision {
  const { gain = 0 } = question.scored;
  if (gain < WORTHWHILE_GAIN) return { tier: 'weak', applied: true, because: 'gain' };
  if (strongShare === 1) return { tier: 'strong', applied: true, because: 'gain' };
  return { ...byShare(question, strongShare), because: 'budget' };
}

/**
 * The tier of a conversation's next turn. It may go up at any turn, and down only if that saves more than the lost
 * prompt cache costs. It never changes within a tool loop.
 */
export function tierOfTurn({
  pinned,
  choice,
  inToolLoop,
  savingNanoUsd,
  cacheLossNanoUsd,
}: {
  pinned: Tier | undefined;
  choice: Tier;
  inToolLoop: boolean;
  savingNanoUsd: number;
  cacheLossNanoUsd: number;
}): Tier {
  if (pinned === undefined || pinned === choice) return choice;
  if (inToolLoop) return pinned;
  if (choice === 'strong') return 'strong';
  return savingNanoUsd > cacheLossNanoUsd ? 'weak' : 'strong';
}
