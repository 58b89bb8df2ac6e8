import { FEATURE_COUNT } from './encode.ts';
import { type LearnerState, newLearner, type TierState } from './learner-state.ts';
import { BUCKETS } from './ngrams.ts';

/**
 * The file format of a learner, always about 515 KB: a 32-bit version, the scalars as 32-bit floats, and 16 bits for
 * the weight of each n-gram bucket.
 */
const VERSION = 0x67770002;
const STATS = ['outcomeProof', 'gainProof', 'gains', 'priors'] as const;
const TIERS = ['weak', 'strong'] as const;
const FLOATS_PER_TIER = 4 + FEATURE_COUNT + 2;
const FLOATS = 1 + 3 * STATS.length + TIERS.length * FLOATS_PER_TIER;
const FLOAT_BYTES = 4;
const WEIGHT_BYTES = 2;
const MAX_INT16 = 32_767;
const BODY_OFFSET = FLOAT_BYTES * (1 + FLOATS);

export const LEARNER_BYTES = BODY_OFFSET + TIERS.length * WEIGHT_BYTES * BUCKETS;

export function serialiseLearner(state: LearnerState): Buffer {
  const buffer = Buffer.alloc(LEARNER_BYTES);
  buffer.writeUInt32LE(VERSION, 0);
  const stats = STATS.flatMap((name) => [state[name].count, state[name].mean, state[name].variance]);
  const scales = TIERS.map((tier) => maxMagnitude(state[tier].head.ngramWeights) / MAX_INT16);
  const tiers = TIERS.flatMap((tier, i) => [...tierFloats(state[tier]), scales[i] ?? 0]);
  const floats = [state.models, ...stats, ...tiers];
  floats.forEach((value, i) => {
    buffer.writeFloatLE(value, FLOAT_BYTES * (1 + i));
  });
  TIERS.forEach((tier, i) => {
    writeNgrams(buffer, BODY_OFFSET + i * WEIGHT_BYTES * BUCKETS, state[tier], scales[i] ?? 0);
  });
  return buffer;
}

/** Reads a serialised learner. Undefined if the bytes are damaged or of another version. */
export function deserialiseLearner(buffer: Buffer): LearnerState | undefined {
  if (buffer.length !== LEARNER_BYTES || buffer.readUInt32LE(0) !== VERSION) return undefined;
  const floats = Array.from({ length: FLOATS }, (_, i) => buffer.readFloatLE(FLOAT_BYTES * (1 + i)));
  if (!floats.every(Number.isFinite)) return undefined;
  const state = newLearner();
  state.models = floats.shift() ?? 0;
  for (const name of STATS) {
    const [count = 0, mean = 0, variance = 0] = floats.splice(0, 3);
    state[name] = { count, mean, variance };
  }
  TIERS.forEach((tier, i) => {
    const scale = readTierFloats(state[tier], floats.splice(0, FLOATS_PER_TIER));
    readNgrams(buffer, BODY_OFFSET + i * WEIGHT_BYTES * BUCKETS, state[tier], scale);
  });
  return isSound(state) ? state : undefined;
}

/** Whether all counts and variances are at least 0; others would make scores NaN. */
function isSound(state: LearnerState): boolean {
  const stats = STATS.flatMap((name) => [state[name].count, state[name].variance]);
  return [...stats, ...TIERS.map((tier) => state[tier].head.steps)].every((value) => value >= 0);
}

function tierFloats({ baseline, head }: TierState): number[] {
  return [...baseline.weights, ...baseline.squares, ...head.featureWeights, head.steps];
}

/** Reads the scalars of a tier. Returns the scale of its n-gram weights. */
function readTierFloats({ baseline, head }: TierState, floats: number[]): number {
  const [intercept = 0, slope = 0, interceptSquares = 0, slopeSquares = 0] = floats;
  baseline.weights = [intercept, slope];
  baseline.squares = [interceptSquares, slopeSquares];
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

function maxMagnitude(values: Float32Array): number {
  let max = 0;
  for (const value of values) max = Math.max(max, Math.abs(value));
  return max;
}
