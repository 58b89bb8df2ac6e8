import { learntScore } from './learner/learner.ts';
import type { LearnerState } from './learner/learner-state.ts';
import { isProven } from './learner/proof.ts';
import type { Prompt } from './prompt.ts';

/** How much a prompt needs the strong tier, and why. */
export interface TierScore {
  /** In [0,1]. */
  score: number;
  basis: 'prior' | 'learnt';
  /** Expected gain of the strong tier over the weak tier. Undefined when the prior scored. */
  gain?: number;
  why: string[];
}

/** Scores with the project's learner once it has proved itself, and with the prior until then. */
export function scorePrompt(prompt: Prompt, learner?: LearnerState): TierScore {
  const { score, why } = prompt.prior;
  if (!learner || !isProven(learner)) return { score, basis: 'prior', why };
  return { ...learntScore(learner, prompt), basis: 'learnt', why };
}
