import { PRIOR_CENTRE } from '../prior.ts';
import type { Prompt } from '../prompt.ts';
import { teachRival } from './baseline.ts';
import { crossFit } from './cross-fit.ts';
import { type Encoded, encode } from './encode.ts';
import { chance, copyOf, familiarity, type Heads, type Outcome, sigmoid, teach, teachAll } from './head.ts';
import type { LearnerState } from './learner-state.ts';
import { validate } from './proof.ts';
import { newRunning, standardise, update } from './running-variance.ts';

export interface Label {
  prompt: Prompt;
  outcome: Outcome;
}

/** The first predictions come from empty heads and say nothing about the method. */
const WARM_UP_LABELS = 30;
const EPOCHS = 4;
/** Fewer can't be spared to check on the heads what the others taught them. */
const MIN_CROSS_FIT = 30;
/** The prior counts as much as this many labels, which steadies heads that saw few, and of other kinds of prompts. */
const PRIOR_LABELS = 300;
/** Prompts that all look alike to the prior must still get scores apart. */
const MIN_SPREAD = 0.3;

/**
 * The learnt score in [0,1], on the prior's scale, so that thresholds keep their meaning at the takeover, and the
 * gain that it stands for: by how much the strong tier is expected to do better, in [-1,1].
 */
export function learntScore(state: LearnerState, prompt: Prompt): { score: number; gain: number } {
  const encoded = encode(prompt);
  const gain = gainOf(state, encoded);
  const prior = standardise(state.priors, prompt.prior.z);
  const priorWeight = PRIOR_LABELS / (PRIOR_LABELS + labelsSeen(state));
  // Of what is unlike all that was learnt the prior knows more.
  const weight = familiarity(state.weak.head, encoded);
  const place = (weight * standardise(state.gains, gain) + priorWeight * prior) / (weight + priorWeight);
  const spread = Math.max(MIN_SPREAD, Math.sqrt(state.priors.variance));
  return { score: sigmoid(state.priors.mean + place * spread - PRIOR_CENTRE), gain };
}

/** Learns one label as it comes in. */
export function learn(state: LearnerState, { prompt, outcome }: Label): void {
  const encoded = encode(prompt);
  const priorZ = prompt.prior.z;
  const { weak, strong } = outcome;
  if (weak !== undefined && strong !== undefined && labelsSeen(state) >= WARM_UP_LABELS) {
    validate(state, encoded, priorZ, { weak, strong });
  }
  if (weak !== undefined) teachRival(state.weak.rival, priorZ, weak);
  if (strong !== undefined) teachRival(state.strong.rival, priorZ, strong);
  teach(headsOf(state), { encoded, outcome });
  update(state.gains, gainOf(state, encoded));
  update(state.priors, priorZ);
}

/** Learns a set of labels thoroughly; `random` gives the order, as files are often sorted by subject. */
export function learnAll(state: LearnerState, labels: readonly Label[], random: () => number): void {
  const order = shuffled(labels, random);
  const before = { weak: copyOf(state.weak.head), strong: copyOf(state.strong.head) };
  for (const label of order) learn(state, label);
  const examples = order.map(({ prompt, outcome }) => ({ encoded: encode(prompt), outcome }));
  // The first epoch was that of learning one by one.
  if (examples.length < MIN_CROSS_FIT) teachAll(headsOf(state), examples, EPOCHS - 1);
  else {
    const { weak, strong } = crossFit(before, examples);
    state.weak.head = weak;
    state.strong.head = strong;
  }
  // Gains are spread out further now.
  state.gains = newRunning();
  for (const { encoded } of examples) update(state.gains, gainOf(state, encoded));
}

/** Every label has been counted into the spread of the prior. */
function labelsSeen(state: LearnerState): number {
  return state.priors.count;
}

function headsOf({ weak, strong }: LearnerState): Heads {
  return { weak: weak.head, strong: strong.head };
}

function gainOf(state: LearnerState, encoded: Encoded): number {
  return chance(state.strong.head, encoded) - chance(state.weak.head, encoded);
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const keyed = items.map((item) => ({ item, key: random() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
