import { FEATURE_COUNT } from './encode.ts';
import {
  copyOf,
  type Example,
  featureSum,
  type Head,
  type Heads,
  newHead,
  ngramSum,
  teachAll,
} from './head.ts';
import { BUCKETS } from './ngrams.ts';
import { fitStack, type Inputs, type Stack } from './stack.ts';

const FOLDS = 5;
const EPOCHS = 6;

/**
 * Heads that have learnt the examples, each of which was kept from a fifth of them. Of examples that they did not
 * see one learns how far to trust them: heads that know their labels by heart are too sure of others. What is
 * trusted of n-grams and features goes into their weights, so that a score costs what it did.
 */
export function crossFit(before: Heads, examples: readonly Example[]): Heads {
  const mean = { weak: newHead(), strong: newHead() };
  const unseen: Inputs[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const heads = taught(
      before,
      examples.filter((_, i) => i % FOLDS !== fold),
    );
    for (let i = fold; i < examples.length; i += FOLDS) unseen[i] = inputsOf(heads, examples[i]);
    add(mean.weak, heads.weak, 1 / FOLDS);
    add(mean.strong, heads.strong, 1 / FOLDS);
    mean.weak.steps = heads.weak.steps;
    mean.strong.steps = heads.strong.steps;
  }
  // Heads that had learnt before may have met these labels then, and would be trusted for knowing them by heart.
  if (before.weak.steps + before.strong.steps > 0) return mean;
  const weak = fitStack(
    unseen,
    examples.map(({ outcome }) => outcome.weak),
  );
  const strong = fitStack(
    unseen.map(swapped),
    examples.map(({ outcome }) => outcome.strong),
  );
  return { weak: blended(mean.weak, mean.strong, weak), strong: blended(mean.strong, mean.weak, strong) };
}

function taught(before: Heads, examples: readonly Example[]): Heads {
  const heads = { weak: copyOf(before.weak), strong: copyOf(before.strong) };
  teachAll(heads, examples, EPOCHS);
  return heads;
}

function inputsOf({ weak, strong }: Heads, example: Example | undefined): Inputs {
  if (!example) return [0, 0, 0, 0];
  const { encoded } = example;
  return [
    ngramSum(weak, encoded),
    featureSum(weak, encoded),
    ngramSum(strong, encoded),
    featureSum(strong, encoded),
  ];
}

function swapped([ngrams, features, otherNgrams, otherFeatures]: Inputs): Inputs {
  return [otherNgrams, otherFeatures, ngrams, features];
}

/** One head that says what the stack makes of two. */
function blended(own: Head, other: Head, { shift, trust }: Stack): Head {
  const head = { ...newHead(), steps: own.steps };
  add(head, own, trust[0], trust[1]);
  add(head, other, trust[2], trust[3]);
  // The first feature is always 1.
  head.featureWeights[0] = (head.featureWeights[0] ?? 0) + shift;
  return head;
}

function add(to: Head, from: Head, ngramShare: number, featureShare = ngramShare): void {
  for (let i = 0; i < BUCKETS; i++) {
    to.ngramWeights[i] = (to.ngramWeights[i] ?? 0) + ngramShare * (from.ngramWeights[i] ?? 0);
  }
  for (let i = 0; i < FEATURE_COUNT; i++) {
    to.featureWeights[i] = (to.featureWeights[i] ?? 0) + featureShare * (from.featureWeights[i] ?? 0);
  }
}
