import { type Baseline, newBaseline } from './baseline.ts';
import { type Head, newHead } from './head.ts';
import { newRunningStats, type RunningStats } from './running-variance.ts';

/** What has been learnt about one tier. */
export interface TierState {
  head: Head;
  baseline: Baseline;
}

/** All that a project has learnt about which prompts need its strong tier. */
export interface LearnerState {
  weak: TierState;
  strong: TierState;
  /** Reduction in squared error against the baseline when predicting outcomes, label by label. */
  outcomeProof: RunningStats;
  /** The same for predicting the strong tier's gain over the weak tier. */
  gainProof: RunningStats;
  /** Distributions of the predicted gains and of the prior, which put the two on one scale. */
  gains: RunningStats;
  priors: RunningStats;
  /** Fingerprint of the tiers' models; 0 when unknown. */
  models: number;
}

/** An untrained learner for tiers with these models. */
export function newLearner(models = 0): LearnerState {
  return {
    weak: { head: newHead(), baseline: newBaseline() },
    strong: { head: newHead(), baseline: newBaseline() },
    outcomeProof: newRunningStats(),
    gainProof: newRunningStats(),
    gains: newRunningStats(),
    priors: newRunningStats(),
    models,
  };
}

/**
 * Sets the models that the tiers have now. After a change the weights stay as a starting point, but the learner must
 * prove itself again and learns at its initial rate.
 */
export function setModels(state: LearnerState, models: number): void {
  if (models === 0 || models === state.models) return;
  const isChange = state.models !== 0;
  state.models = models;
  if (!isChange) return;
  state.outcomeProof = newRunningStats();
  state.gainProof = newRunningStats();
  for (const tier of [state.weak, state.strong]) {
    tier.baseline = newBaseline();
    tier.head.steps = 0;
  }
}
