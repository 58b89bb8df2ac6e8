import { rivalChance } from './baseline.ts';
import type { Encoded } from './encode.ts';
import { chance } from './head.ts';
import type { LearnerState, TierState } from './learner-state.ts';
import { certainty, update } from './running-variance.ts';

const MIN_PROOFS = 100;
/** Standard errors: one-sided 99 %, since it is looked at after each label, and by luck 95 % come by sooner or later. */
const PROVEN = 2.33;
/** Gains are far noisier than outcomes; below this the heads look worse at them than the prior. */
const DOUBTFUL = -0.5;

/**
 * Whether the heads may decide. Each label was predicted before it was learnt, and the heads must have been
 * better than the prior with 99 % confidence at outcomes, and not plainly worse at gains. Only labels of both tiers
 * count: outcomes of the chosen tier alone teach, but heads trusted on their account ranked gains worse than
 * the prior did when measured.
 */
export function isProven(state: LearnerState): boolean {
  return (
    state.outcomeProof.count >= MIN_PROOFS &&
    certainty(state.outcomeProof) > PROVEN &&
    certainty(state.gainProof) > DOUBTFUL
  );
}

/** Compares heads and prior on a label that neither has learnt yet. */
export function validate(
  state: LearnerState,
  encoded: Encoded,
  priorZ: number,
  outcome: { weak: number; strong: number },
): void {
  const predict = (tier: TierState) => ({
    head: chance(tier.head, encoded),
    rival: rivalChance(tier.rival, priorZ),
  });
  const weak = predict(state.weak);
  const strong = predict(state.strong);
  const gain = outcome.strong - outcome.weak;
  update(
    state.outcomeProof,
    improvement(outcome.weak, weak.rival, weak.head) + improvement(outcome.strong, strong.rival, strong.head),
  );
  update(state.gainProof, improvement(gain, strong.rival - weak.rival, strong.head - weak.head));
}

/**
 * How much smaller the squared error gets where the new prediction has half a say beside the old: as in scores, to
 * which the prior goes on contributing. Heads alone, sure of themselves too early, hid for long what they knew.
 */
function improvement(actual: number, old: number, fresh: number): number {
  return (actual - old) ** 2 - (actual - (old + fresh) / 2) ** 2;
}
