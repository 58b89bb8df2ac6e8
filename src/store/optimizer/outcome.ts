import type { ModelTrial, Side } from './trials.ts';

/** What a trial shows: what compressing saved, by what the conversations that were held out cost. */
export interface TrialOutcome {
  models: ModelOutcome[];
  treatedConversations: number;
  heldOutConversations: number;
  /** What the compressed requests would have cost more at the held-out ones' rate; below 0 where they cost more. */
  savedNanoUsd: number;
  /** Half the width of the interval that holds the true figure in 95 of 100 trials. */
  marginNanoUsd: number;
  /** By what is known so far. `too_few`: there is nothing to tell yet. */
  verdict: 'too_few' | 'saves' | 'costs' | 'unclear';
  /** So sure that it costs more that the optimizer may switch itself off. */
  isCertain: boolean;
}

export interface ModelOutcome extends ModelTrial {
  /** Whether there is enough of both sides to compare. */
  isCompared: boolean;
}

/** Of a model, so many conversations on both sides are needed to tell how far they differ among themselves. */
const MIN_OF_MODEL = 5;
/** Of all models together. */
export const MIN_HELD_OUT = 30;
/** Standard errors, for 95 %. */
const LIKELY = 2;
/** It is looked at again and again, and each time chance may have its way: simulated, once in some 1,000 projects. */
const CERTAIN = 4.5;

/**
 * Compares dollars billed per original token, model by model, conversation by conversation: whole conversations were
 * drawn, so they are what differs by chance. All that was billed counts, output and cache reads and writes included.
 */
export function outcomeOf(trials: readonly ModelTrial[]): TrialOutcome {
  const models = trials.map((trial) => ({ ...trial, isCompared: isComparable(trial) }));
  const compared = models.filter(({ isCompared }) => isCompared);
  let saved = 0;
  let variance = 0;
  for (const { treated, heldOut } of compared) {
    saved += treated.originalTokens * (rateOf(heldOut) - rateOf(treated));
    variance += treated.originalTokens ** 2 * (rateVariance(heldOut) + rateVariance(treated));
  }
  const error = Math.sqrt(variance);
  const count = (side: 'treated' | 'heldOut') =>
    compared.reduce((sum, each) => sum + each[side].conversations, 0);
  const isEnough = count('heldOut') >= MIN_HELD_OUT;
  return {
    models,
    treatedConversations: count('treated'),
    heldOutConversations: count('heldOut'),
    savedNanoUsd: Math.round(saved),
    marginNanoUsd: Math.round(LIKELY * error),
    verdict: isEnough ? verdictOf(saved, LIKELY * error) : 'too_few',
    isCertain: isEnough && saved + CERTAIN * error < 0,
  };
}

/** Nano-USD billed per original token. */
export function rateOf({ costNanoUsd, originalTokens }: Side): number {
  return originalTokens > 0 ? costNanoUsd / originalTokens : 0;
}

function isComparable({ treated, heldOut }: ModelTrial): boolean {
  return Math.min(treated.conversations, heldOut.conversations) >= MIN_OF_MODEL;
}

function verdictOf(saved: number, margin: number): TrialOutcome['verdict'] {
  if (saved - margin > 0) return 'saves';
  return saved + margin < 0 ? 'costs' : 'unclear';
}

/**
 * Of a ratio of sums over conversations (Cochran, Sampling Techniques, 6.5). Where a few long ones make most of the sum,
 * it counts as being of few.
 */
function rateVariance(side: Side): number {
  const { originalTokens, costSquared, costTimesTokens, tokensSquared } = side;
  const rate = rateOf(side);
  const residual = Math.max(0, costSquared - 2 * rate * costTimesTokens + rate * rate * tokensSquared);
  const count = originalTokens ** 2 / tokensSquared;
  return ((count / Math.max(0.01, count - 1)) * residual) / originalTokens ** 2;
}
