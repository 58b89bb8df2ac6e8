import { learntScore } from './learner/learner.ts';
import type { LearnerState } from './learner/learner-state.ts';
import { isProven } from './learner/proof.ts';
import type { Prompt } from './prompt.ts';

/** How much a prompt needs the strong tier, who says so, and why. */
export interface TierScore {
  /** In [0,1]. */
  score: number;
  basis: 'prior' | 'learnt';
  /** By how much the strong tier is expected to do better; only what was learnt can tell. */
  gain?: number;
  why: string[];
}

/** Scores with what the project has learnt once that is proven, else with the prior. */
export function scorePrompt(prompt: Prompt, learner?: LearnerState): TierScore {
  const { score, why } = prompt.prior;
  if (!learner || !isProven(learner)) return { score, basis: 'prior', why };
  return { ...learntScore(learner, prompt), basis: 'learnt', why };
}
