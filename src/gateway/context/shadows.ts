import type { Tier } from '../../routing/tier.ts';
import type { Signs } from '../../wire/answer/summary.ts';
import type { Job } from './request-context.ts';
import type { TierChoice } from './tier-choice.ts';

/** Asks the other tier, now and then, what one has answered already, so that a project learns from both. */
export interface Shadows {
  /** Asks once the client has its answer, if it is to be asked at all. */
  consider(served: Served): void;
  /** Ends what is under way, and begins nothing more. */
  close(): Promise<void>;
}

/** A request that one tier has answered, and what came of it. */
export interface Served {
  /** In its client's words. */
  job: Job;
  tier: TierChoice;
  servedBy: Tier;
  signs: Signs;
  outputTokens: number;
}
