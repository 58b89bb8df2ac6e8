import { PRIOR_CENTRE } from '../prior.ts';
import type { Prompt } from '../prompt.ts';
import { teachBaseline } from './baseline.ts';
import { crossFit } from './cross-fit.ts';
import { type Encoded, encode } from './encode.ts';
import {
  copyOf,
  familiarity,
  type Heads,
  type Outcome,
  probability,
  sigmoid,
  teach,
  teachAll,
} from './head.ts';
import type { LearnerState } from './learner-state.ts';
import { validate } from './proof.ts';
import { newRunningStats, standardise, update } from './running-variance.ts';

export interface Label {
  prompt: Prompt;
  outcome: Outcome;
}

/** The first predictions come from untrained heads and are no evidence for or against them. */
const WARM_UP_LABELS = 30;
const EPOCHS = 4;
/** Fewer labels are too few to hold any out. */
const MIN_CROSS_FIT = 30;
/** The prior counts as much as this many labels, which steadies heads with few labels or on new kinds of prompts. */
const PRIOR_LABELS = 300;
/** Keeps scores apart when the prior rates all prompts alike. */
const MIN_SPREAD = 0.3;

/**
 * The learnt score in [0,1] and the strong tier's expected gain over the weak tier, in [-1,1]. The score is on the
 * prior's scale, so that thresholds keep their meaning when the learner takes over.
 */
export function learntScore(state: LearnerState, prompt: Prompt): { score: number; gain: number } {
  const encoded = encode(prompt);
  const gain = gainOf(state, encoded);
  const prior = standardise(state.priors, prompt.prior.z);
  const priorWeight = PRIOR_LABELS / (PRIOR_LABELS + labelsSeen(state));
  // The less of the prompt the heads have seen, the more the prior counts.
  const weight = familiarity(state.weak.head, encoded);
  const position = (weight * standardise(state.gains, gain) + priorWeight * prior) / (weight + priorWeight);
  const spread = Math.max(MIN_SPREAD, Math.sqrt(state.priors.variance));
  return { score: sigmoid(state.priors.mean + position * spread - PRIOR_CENTRE), gain };
}

/** Learns one label as it arrives. */
export function learn(state: LearnerState, { prompt, outcome }: Label): void {
  const encoded = encode(prompt);
  const priorZ = prompt.prior.z;
  const { weak, strong } = outcome;
  if (weak !== undefined && strong !== undefined && labelsSeen(state) >= WARM_UP_LABELS) {
    validate(state, encoded, priorZ, { weak, strong });
  }
  if (weak !== undefined) teachBaseline(state.weak.baseline, priorZ, weak);
  if (strong !== undefined) teachBaseline(state.strong.baseline, priorZ, strong);
  teach(headsOf(state), { encoded, outcome });
  update(state.gains, gainOf(state, encoded));
  update(state.priors, priorZ);
}

/** Learns a set of labels in several epochs. `random` shuffles them, since files are often sorted by subject. */
export function learnAll(state: LearnerState, labels: readonly Label[], random: () => number): void {
  const order = shuffle(labels, random);
  const before = { weak: copyOf(state.weak.head), strong: copyOf(state.strong.head) };
  for (const label of order) learn(state, label);
  const examples = order.map(({ prompt, outcome }) => ({ encoded: encode(prompt), outcome }));
  // Learning one by one above was the first epoch.
  if (examples.length < MIN_CROSS_FIT) teachAll(headsOf(state), examples, EPOCHS - 1);
  else {
    const { weak, strong } = crossFit(before, examples);
    state.weak.head = weak;
    state.strong.head = strong;
  }
  // The new heads predict gains of another spread.
  state.gains = newRunningStats();
  for (const { encoded } of examples) update(state.gains, gainOf(state, encoded));
}

/** Each label adds one value to the prior's distribution. */
function labelsSeen(state: LearnerState): number {
  return state.priors.count;
}

function headsOf({ weak, strong }: LearnerState): Heads {
  return { weak: weak.head, strong: strong.head };
}

function gainOf(state: LearnerState, encoded: Encoded): number {
  return probability(state.strong.head, encoded) - probability(state.weak.head, encoded);
}

function shuffle<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
