import { FEATURE_COUNT } from './encode.ts';
import { type LearnerState, newLearner, type TierState } from './learner-state.ts';
import { BUCKETS } from './ngrams.ts';

/**
 * A learner as bytes, about 515 KB whatever it learnt: a 32-bit version; its few numbers as 32-bit floats; and the
 * weight of each n-gram in 16 bits.
 */
const VERSION = 0x67770002;
const SPREADS = ['outcomeProof', 'gainProof', 'gains', 'priors'] as const;
const TIERS = ['weak', 'strong'] as const;
const FLOATS_PER_TIER = 4 + FEATURE_COUNT + 2;
const FLOATS = 1 + 3 * SPREADS.length + TIERS.length * FLOATS_PER_TIER;
const FLOAT_BYTES = 4;
const WEIGHT_BYTES = 2;
const LARGEST_WEIGHT = 32_767;
const BODY_AT = FLOAT_BYTES * (1 + FLOATS);

export const LEARNER_BYTES = BODY_AT + TIERS.length * WEIGHT_BYTES * BUCKETS;

export function serialiseLearner(state: LearnerState): Buffer {
  const buffer = Buffer.alloc(LEARNER_BYTES);
  buffer.writeUInt32LE(VERSION, 0);
  const spreads = SPREADS.flatMap((name) => [state[name].count, state[name].mean, state[name].variance]);
  const scales = TIERS.map((tier) => largest(state[tier].head.ngramWeights) / LARGEST_WEIGHT);
  const tiers = TIERS.flatMap((tier, i) => [...tierFloats(state[tier]), scales[i] ?? 0]);
  const floats = [state.models, ...spreads, ...tiers];
  floats.forEach((value, i) => {
    buffer.writeFloatLE(value, FLOAT_BYTES * (1 + i));
  });
  TIERS.forEach((tier, i) => {
    writeNgrams(buffer, BODY_AT + i * WEIGHT_BYTES * BUCKETS, state[tier], scales[i] ?? 0);
  });
  return buffer;
}

/** The learner that was serialised; undefined if the bytes are damaged, or of another version. */
export function deserialiseLearner(buffer: Buffer): LearnerState | undefined {
  if (buffer.length !== LEARNER_BYTES || buffer.readUInt32LE(0) !== VERSION) return undefined;
  const floats = Array.from({ length: FLOATS }, (_, i) => buffer.readFloatLE(FLOAT_BYTES * (1 + i)));
  if (!floats.every(Number.isFinite)) return undefined;
  const state = newLearner();
  state.models = floats.shift() ?? 0;
  for (const name of SPREADS) {
    const [count = 0, mean = 0, variance = 0] = floats.splice(0, 3);
    state[name] = { count, mean, variance };
  }
  TIERS.forEach((tier, i) => {
    const scale = readTierFloats(state[tier], floats.splice(0, FLOATS_PER_TIER));
    readNgrams(buffer, BODY_AT + i * WEIGHT_BYTES * BUCKETS, state[tier], scale);
  });
  return isSound(state) ? state : undefined;
}

/** Whether no count or variance is below 0, which would make scores that are no numbers. */
function isSound(state: LearnerState): boolean {
  const spreads = SPREADS.flatMap((name) => [state[name].count, state[name].variance]);
  return [...spreads, ...TIERS.map((tier) => state[tier].head.steps)].every((value) => value >= 0);
}

function tierFloats({ rival, head }: TierState): number[] {
  return [...rival.weights, ...rival.squares, ...head.featureWeights, head.steps];
}

/** Fills the tier's small numbers and answers the scale of its n-gram weights. */
function readTierFloats({ rival, head }: TierState, floats: number[]): number {
  const [intercept = 0, slope = 0, interceptSquares = 0, slopeSquares = 0] = floats;
  rival.weights = [intercept, slope];
  rival.squares = [interceptSquares, slopeSquares];
  head.featureWeights.set(floats.slice(4, 4 + FEATURE_COUNT));
  head.steps = floats[4 + FEATURE_COUNT] ?? 0;
  return floats.at(-1) ?? 0;
}

function writeNgrams(buffer: Buffer, at: number, { head }: TierState, scale: number): void {
  for (let i = 0; i < BUCKETS; i++) {
    const weight = scale === 0 ? 0 : Math.round((head.ngramWeights[i] ?? 0) / scale);
    buffer.writeInt16LE(weight, at + WEIGHT_BYTES * i);
  }
}

function readNgrams(buffer: Buffer, at: number, { head }: TierState, scale: number): void {
  for (let i = 0; i < BUCKETS; i++) {
    head.ngramWeights[i] = buffer.readInt16LE(at + WEIGHT_BYTES * i) * scale;
  }
}

function largest(values: Float32Array): number {
  let most = 0;
  for (const value of values) most = Math.max(most, Math.abs(value));
  return most;
}
