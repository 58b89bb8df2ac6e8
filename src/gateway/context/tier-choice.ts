import type { TierDecision } from '../../tiering/decide-tier.ts';
import type { Prompt } from '../../tiering/prompt.ts';
import type { TierScore } from '../../tiering/score.ts';
import type { RoutedTarget } from '../state/resolve.ts';

/** Which tier a request takes, and why. */
export interface TierChoice {
  decision: TierDecision;
  scored: TierScore;
  /** The name of the tier that was decided on. */
  name: string;
  /** What the cheaper tier lacks for this request. */
  lacks: readonly string[];
  /** Where it would have gone for the dearer price. */
  strong: RoutedTarget;
  weak: readonly RoutedTarget[];
  /** To learn from how it was answered. */
  prompt: Prompt;
  turns: number;
  wantsJson: boolean;
}
