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
 * Trains heads on the examples by five-fold cross-fitting. Each fold's heads predict the examples held out from them,
 * and a stacking regression on these predictions corrects the overconfidence of heads that memorise their labels.
 * The result is the mean of the folds with the stacking weights folded in, so that scoring costs no more.
 */
export function crossFit(before: Heads, examples: readonly Example[]): Heads {
  const mean = { weak: newHead(), strong: newHead() };
  const heldOut: Inputs[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const heads = trainHeads(
      before,
      examples.filter((_, i) => i % FOLDS !== fold),
    );
    for (let i = fold; i < examples.length; i += FOLDS) heldOut[i] = inputsOf(heads, examples[i]);
    add(mean.weak, heads.weak, 1 / FOLDS);
    add(mean.strong, heads.strong, 1 / FOLDS);
    mean.weak.steps = heads.weak.steps;
    mean.strong.steps = heads.strong.steps;
  }
  // Heads from an earlier run may have been trained on these labels, so no prediction of theirs is held out.
  if (before.weak.steps + before.strong.steps > 0) return mean;
  const weak = fitStack(
    heldOut,
    examples.map(({ outcome }) => outcome.weak),
  );
  const strong = fitStack(
    heldOut.map(swapTiers),
    examples.map(({ outcome }) => outcome.strong),
  );
  return { weak: blend(mean.weak, mean.strong, weak), strong: blend(mean.strong, mean.weak, strong) };
}

function trainHeads(before: Heads, examples: readonly Example[]): Heads {
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

function swapTiers([ngrams, features, otherNgrams, otherFeatures]: Inputs): Inputs {
  return [otherNgrams, otherFeatures, ngrams, features];
}

/** Applies the stacking weights to a tier's own head and the other tier's, as one head. */
function blend(own: Head, other: Head, { intercept, weights }: Stack): Head {
  const head = { ...newHead(), steps: own.steps };
  add(head, own, weights[0], weights[1]);
  add(head, other, weights[2], weights[3]);
  // The first feature is always 1.
  head.featureWeights[0] = (head.featureWeights[0] ?? 0) + intercept;
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
