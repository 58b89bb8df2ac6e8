import type { Tier } from '../routing/tier.ts';
import { placeOf } from './conversation-key.ts';
import type { TierScore } from './score.ts';
import { type ScoreWindow, shareUnderPressure, tierByShare } from './share.ts';

export interface TierQuestion {
  scored: TierScore;
  window: ScoreWindow;
  /** The share of requests that the user wants on the strong tier, if one was set. */
  share?: number;
  /** Of the tightest budget; 0 where there is none. */
  spentOfCap?: number;
  /** The key of the conversation, which also settles ties. */
  conversation: string;
  /** The tier that served the conversation last. */
  pinned?: Tier | undefined;
  inToolLoop?: boolean;
  /** The request gives reasoning back that the other tier's provider cannot open. */
  isSealed?: boolean;
  /** A tier that the request asked for as its least; exempt from the budget's pressure. */
  minTier?: Tier;
  /** What the weak tier would save on this turn, and what the lost prompt cache would cost. */
  savingNanoUsd?: number;
  cacheLossNanoUsd?: number;
}

export interface TierDecision {
  tier: Tier;
  /** False: `tier` is recorded and told, but the request keeps the model it asked for. */
  applied: boolean;
  threshold?: number;
  /** What settled it, beyond the score. */
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

/** Less gain than this is not worth the strong tier's price, where the user set no share. */
const WORTHWHILE_GAIN = 0.05;
/** What a cold start is judged by when it is only recorded. */
const UNSET_SHARE = 0.5;

/**
 * Which tier a request takes. With a share, the scores above its running quantile go to the strong tier; without
 * one nothing is applied until the project's own labels have proved what the strong tier gains. A budget that
 * runs down lowers the share, a conversation keeps its tier.
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
  const wanted = share === undefined ? byGain(question, strongShare) : byShare(question, strongShare);
  const { savingNanoUsd = 0, cacheLossNanoUsd = 0 } = question;
  const tier = tierOfTurn({ pinned, wanted: wanted.tier, inToolLoop, savingNanoUsd, cacheLossNanoUsd });
  return tier === wanted.tier ? wanted : { ...wanted, tier, because: 'sticky' };
}

function byShare({ window, scored, conversation }: TierQuestion, share: number): TierDecision {
  const ranked = tierByShare(window, { score: scored.score, share, tieBreak: placeOf(conversation) });
  if (!ranked) return { tier: 'strong', applied: false, because: 'cold_start' };
  return { ...ranked, applied: true, because: 'share' };
}

/** What is worth it goes to the strong tier, as far as the budget's pressure leaves room there. */
function byGain(question: TierQuestion, strongShare: number): TierDecision {
  const { gain = 0 } = question.scored;
  if (gain < WORTHWHILE_GAIN) return { tier: 'weak', applied: true, because: 'gain' };
  if (strongShare === 1) return { tier: 'strong', applied: true, because: 'gain' };
  return { ...byShare(question, strongShare), because: 'budget' };
}

/**
 * The tier of a conversation's next turn: up at any time; down only where that saves more than the lost prompt
 * cache costs, and never within a tool loop.
 */
export function tierOfTurn({
  pinned,
  wanted,
  inToolLoop,
  savingNanoUsd,
  cacheLossNanoUsd,
}: {
  pinned: Tier | undefined;
  wanted: Tier;
  inToolLoop: boolean;
  savingNanoUsd: number;
  cacheLossNanoUsd: number;
}): Tier {
  if (pinned === undefined || pinned === wanted) return wanted;
  if (inToolLoop) return pinned;
  if (wanted === 'strong') return 'strong';
  return savingNanoUsd > cacheLossNanoUsd ? 'weak' : 'strong';
}
