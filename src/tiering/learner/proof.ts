import { baselineProbability } from './baseline.ts';
import type { Encoded } from './encode.ts';
import { probability } from './head.ts';
import type { LearnerState, TierState } from './learner-state.ts';
import { tStatistic, update } from './running-variance.ts';

const MIN_LABELS = 100;
/** In standard errors, one-sided 99 %: tested after each label, 95 % would be reached by chance sooner or later. */
const MIN_OUTCOME_T = 2.33;
/** In standard errors. Gains are much noisier than outcomes; below this the heads look worse than the baseline. */
const MIN_GAIN_T = -0.5;

/**
 * Whether the heads may replace the prior. Each label is predicted before it is learnt; the heads must have beaten
 * the baseline with 99 % confidence on outcomes and not be clearly worse on gains. Only labels of both tiers count:
 * when measured, heads that were trusted for labels of the chosen tier alone ranked gains worse than the prior.
 */
export function isProven(state: LearnerState): boolean {
  return (
    state.outcomeProof.count >= MIN_LABELS &&
    tStatistic(state.outcomeProof) > MIN_OUTCOME_T &&
    tStatistic(state.gainProof) > MIN_GAIN_T
  );
}

/** Compares heads and baseline on a label that neither has learnt yet. */
export function validate(
  state: LearnerState,
  encoded: Encoded,
  priorZ: number,
  outcome: { weak: number; strong: number },
): void {
  const predict = (tier: TierState) => ({
    head: probability(tier.head, encoded),
    baseline: baselineProbability(tier.baseline, priorZ),
  });
  const weak = predict(state.weak);
  const strong = predict(state.strong);
  const gain = outcome.strong - outcome.weak;
  update(
    state.outcomeProof,
    improvement(outcome.weak, weak.baseline, weak.head) +
      improvement(outcome.strong, strong.baseline, strong.head),
  );
  update(state.gainProof, improvement(gain, strong.baseline - weak.baseline, strong.head - weak.head));
}

/**
 * Reduction in squared error when the head's prediction is averaged with the baseline's, as scores average heads and
 * prior. Heads alone are overconfident at first, and took long to prove what they had learnt.
 */
function improvement(actual: number, baseline: number, head: number): number {
  return (actual - baseline) ** 2 - (actual - (baseline + head) / 2) ** 2;
}
