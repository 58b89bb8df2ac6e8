import { PRIOR_CENTRE } from '../prior.ts';
import { sigmoid } from './head.ts';

/**
 * What the prior alone would predict for one tier: a logistic line through its value, learnt from the same labels
 * as the head that wants to replace it. A head that can't beat this line has learnt nothing that length,
 * conditions and code didn't say already.
 */
export interface Rival {
  /** Intercept and slope. */
  weights: [number, number];
  squares: [number, number];
}

const RATE = 0.15;

export function newRival(): Rival {
  return { weights: [0, 0], squares: [1e-3, 1e-3] };
}

export function rivalChance(rival: Rival, priorZ: number): number {
  return sigmoid(rival.weights[0] + rival.weights[1] * (priorZ - PRIOR_CENTRE));
}

export function teachRival(rival: Rival, priorZ: number, outcome: number): void {
  const error = rivalChance(rival, priorZ) - outcome;
  const gradients = [error, error * (priorZ - PRIOR_CENTRE)] as const;
  for (const i of [0, 1] as const) {
    rival.squares[i] += gradients[i] ** 2;
    rival.weights[i] -= (RATE * gradients[i]) / Math.sqrt(rival.squares[i]);
  }
}
