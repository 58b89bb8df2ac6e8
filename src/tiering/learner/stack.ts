import { sigmoid } from './head.ts';

/** Log-odds contributions: the n-grams and features of a tier's own head, then those of the other tier's head. */
export type Inputs = [number, number, number, number];

/** Weights that combine these contributions into calibrated log odds. */
export interface Stack {
  intercept: number;
  weights: Inputs;
}

/** Intercept and weights that the fit shrinks towards: the own head unchanged, the other head ignored. */
const DEFAULT_WEIGHTS = [0, 1, 1, 0, 0] as const;
/** L2 penalty on the distance from them. */
const RIDGE = [5, 20, 20, 20, 20] as const;
const SWEEPS = 15;
/** Keeps the Newton steps finite where predictions are nearly certain. */
const MIN_CURVATURE = 1e-3;

/** Logistic regression of the outcomes on the inputs, by coordinate descent. */
export function fitStack(inputs: readonly Inputs[], outcomes: readonly (number | undefined)[]): Stack {
  const rows = inputs.flatMap((row, i) => {
    const outcome = outcomes[i];
    return outcome === undefined ? [] : [{ values: [1, ...row], outcome, z: row[0] + row[1] }];
  });
  const weights: number[] = [...DEFAULT_WEIGHTS];
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const [at, ridge] of RIDGE.entries()) {
      let slope = -ridge * ((weights[at] ?? 0) - (DEFAULT_WEIGHTS[at] ?? 0));
      let curvature: number = ridge;
      for (const { values, outcome, z } of rows) {
        const value = values[at] ?? 0;
        const predicted = sigmoid(z);
        slope += (outcome - predicted) * value;
        curvature += Math.max(MIN_CURVATURE, predicted * (1 - predicted)) * value ** 2;
      }
      const change = Math.max(-1, Math.min(1, slope / curvature));
      weights[at] = (weights[at] ?? 0) + change;
      for (const row of rows) row.z += change * (row.values[at] ?? 0);
    }
  }
  const [intercept = 0, ngrams = 1, features = 1, otherNgrams = 0, otherFeatures = 0] = weights;
  return { intercept, weights: [ngrams, features, otherNgrams, otherFeatures] };
}
