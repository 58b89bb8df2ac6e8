import { PRIOR_CENTRE } from '../prior.ts';
import { sigmoid } from './head.ts';

/**
 * Predicts one tier's outcome from the prior alone: a logistic regression on the prior's value, trained on the same
 * labels as the tier's head. A head that can't beat it has learnt nothing that the prior doesn't already know.
 */
export interface Baseline {
  /** Intercept and slope. */
  weights: [number, number];
  /** Sums of squared gradients (AdaGrad). */
  squares: [number, number];
}

const RATE = 0.15;

export function newBaseline(): Baseline {
  return { weights: [0, 0], squares: [1e-3, 1e-3] };
}

export function baselineProbability(baseline: Baseline, priorZ: number): number {
  return sigmoid(baseline.weights[0] + baseline.weights[1] * (priorZ - PRIOR_CENTRE));
}

export function teachBaseline(baseline: Baseline, priorZ: number, outcome: number): void {
  const error = baselineProbability(baseline, priorZ) - outcome;
  const gradients = [error, error * (priorZ - PRIOR_CENTRE)] as const;
  for (const i of [0, 1] as const) {
    baseline.squares[i] += gradients[i] ** 2;
    baseline.weights[i] -= (RATE * gradients[i]) / Math.sqrt(baseline.squares[i]);
  }
}
