import type { TierDecision } from '../../tiering/decide-tier.ts';
import type { TierScore } from '../../tiering/score.ts';
import type { RoutedTarget } from '../state/resolver.ts';

/** The tier that was chosen for a request, and why. */
export interface TierChoice {
  decision: TierDecision;
  scored: TierScore;
  /** Name of the chosen tier. */
  name: string;
  /** Capabilities that the request needs and the weak tier lacks. */
  lacks: readonly string[];
  /** First target of the strong tier. */
  strong: RoutedTarget;
}
