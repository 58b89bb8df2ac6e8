import { newRival, type Rival } from './baseline.ts';
import { type Head, newHead } from './head.ts';
import { newRunning, type Running } from './running-variance.ts';

/** What is learnt about one tier. */
export interface TierState {
  head: Head;
  rival: Rival;
}

/** Everything that a project has learnt about which prompts need its strong tier. */
export interface LearnerState {
  weak: TierState;
  strong: TierState;
  /** By how much the heads predict outcomes better than the prior does: squared errors, label by label. */
  outcomeProof: Running;
  /** The same for the strong tier's gain over the weak one. */
  gainProof: Running;
  /** Spread of predicted gains and of the prior, which puts the two on one scale. */
  gains: Running;
  priors: Running;
  /** Stands for the models that the tiers had; 0 where that is not known. */
  models: number;
}

/** Nothing learnt yet, about tiers that have these models. */
export function newLearner(models = 0): LearnerState {
  return {
    weak: { head: newHead(), rival: newRival() },
    strong: { head: newHead(), rival: newRival() },
    outcomeProof: newRunning(),
    gainProof: newRunning(),
    gains: newRunning(),
    priors: newRunning(),
    models,
  };
}

/**
 * Takes up which models the tiers have now. Of others, what was learnt is a good start and no more: it has to prove
 * itself anew, and learns as fast as at first.
 */
export function learnAbout(state: LearnerState, models: number): void {
  if (models === 0 || models === state.models) return;
  const isOther = state.models !== 0;
  state.models = models;
  if (!isOther) return;
  state.outcomeProof = newRunning();
  state.gainProof = newRunning();
  for (const tier of [state.weak, state.strong]) {
    tier.rival = newRival();
    tier.head.steps = 0;
  }
}
