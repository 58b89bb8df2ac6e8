import { sigmoid } from './head.ts';

/** Log odds from the n-grams and the features of a tier's own head, and from those of the other tier's. */
export type Inputs = [number, number, number, number];

/** How to make log odds of these: how much to trust each, and what to add. */
export interface Stack {
  shift: number;
  trust: Inputs;
}

/** Against these the outcomes must speak: own head as it is, and nothing of the other. */
const AS_IT_IS = [0, 1, 1, 0, 0] as const;
const RIDGE = [5, 20, 20, 20, 20] as const;
const SWEEPS = 15;
/** Predictions that are next to certain still leave room for a step. */
const LEAST_CURVATURE = 1e-3;

/** Logistic regression of outcomes on the inputs; coordinate by coordinate, which needs no matrix. */
export function fitStack(inputs: readonly Inputs[], outcomes: readonly (number | undefined)[]): Stack {
  const rows = inputs.flatMap((row, i) => {
    const outcome = outcomes[i];
    return outcome === undefined ? [] : [{ values: [1, ...row], outcome, z: row[0] + row[1] }];
  });
  const weights: number[] = [...AS_IT_IS];
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const [at, ridge] of RIDGE.entries()) {
      let slope = -ridge * ((weights[at] ?? 0) - (AS_IT_IS[at] ?? 0));
      let curvature: number = ridge;
      for (const { values, outcome, z } of rows) {
        const value = values[at] ?? 0;
        const chance = sigmoid(z);
        slope += (outcome - chance) * value;
        curvature += Math.max(LEAST_CURVATURE, chance * (1 - chance)) * value ** 2;
      }
      const change = Math.max(-1, Math.min(1, slope / curvature));
      weights[at] = (weights[at] ?? 0) + change;
      for (const row of rows) row.z += change * (row.values[at] ?? 0);
    }
  }
  const [shift = 0, ngrams = 1, features = 1, otherNgrams = 0, otherFeatures = 0] = weights;
  return { shift, trust: [ngrams, features, otherNgrams, otherFeatures] };
}
