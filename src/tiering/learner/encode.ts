import { PRIOR_CENTRE, type PriorScore, saturate } from '../prior.ts';
import type { Prompt } from '../prompt.ts';
import type { Scan } from '../scan.ts';
import { ngramBuckets } from './ngrams.ts';

/** A prompt as a head's input vector. */
export interface Encoded {
  buckets: Int32Array;
  features: Float32Array;
}

/** Length of the vector that `features` returns. */
export const FEATURE_COUNT = 24;

/** Encodes a prompt for the heads. Only done for projects that have learnt something. */
export function encode(prompt: Prompt): Encoded {
  return { buckets: ngramBuckets(prompt.text), features: features(prompt.counts, prompt.prior) };
}

/** The hand-written features, each scaled to about -1 to 1. The first one is the intercept. */
function features(counts: Scan, prior: PriorScore): Float32Array {
  const words = counts.words + 1;
  return Float32Array.of(
    1,
    clamp((prior.z - PRIOR_CENTRE) / 1.5),
    Math.log1p(counts.words) / 3 - 1.3,
    Math.log1p(counts.lines) / 2 - 0.7,
    counts.letters / words / 4 - 1.1,
    (4 * counts.longWords) / words - 0.5,
    (4 * counts.numbers) / (words + counts.numbers) - 0.4,
    (4 * counts.capitals) / words - 0.5,
    (8 * counts.condition) / words - 0.4,
    saturate(counts.sentences, 3) - 0.5,
    saturate(counts.numbers, 4) - 0.5,
    saturate(counts.commas, 4) - 0.5,
    saturate(counts.questions, 1) - 0.4,
    saturate(counts.operators, 3) - 0.2,
    saturate(counts.brackets, 6) - 0.2,
    saturate(counts.latex, 2) - 0.1,
    saturate(counts.quotes, 2) - 0.2,
    saturate(counts.nonAscii, 10) - 0.1,
    saturate(counts.negation, 2) - 0.3,
    saturate(counts.writing, 1) - 0.2,
    saturate(counts.code, 2) - 0.2,
    saturate(counts.maths, 2) - 0.2,
    saturate(counts.listItems, 2) - 0.1,
    counts.options >= 2 ? 0.5 : -0.5,
  );
}

function clamp(value: number): number {
  return Math.min(2, Math.max(-2, value));
}
