import { type Encoded, type Head, step } from './head.ts';

/** How well each tier answered a prompt, in [0,1]; a tier that was not asked is left out. */
export interface Outcome {
  weak?: number;
  strong?: number;
}

/** A prompt as heads read it, and what came of it. */
export interface Example {
  encoded: Encoded;
  outcome: Outcome;
}

/** The heads of the two tiers. */
export interface Heads {
  weak: Head;
  strong: Head;
}

export function teach(heads: Heads, { encoded, outcome }: Example): void {
  if (outcome.weak !== undefined) step(heads.weak, encoded, outcome.weak);
  if (outcome.strong !== undefined) step(heads.strong, encoded, outcome.strong);
}

/** Goes through the examples so many times. */
export function teachAll(heads: Heads, examples: readonly Example[], epochs: number): void {
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (const example of examples) teach(heads, example);
  }
}
