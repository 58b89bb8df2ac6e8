import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sigmoid } from '../../../src/tiering/learner/head.ts';
import { fitStack, type Inputs } from '../../../src/tiering/learner/stack.ts';
import { seededRandom } from '../../routing/seeded-random.ts';

/** Inputs at random, with outcomes that a chance decides which is known. */
function drawn(count: number, seed: number, logOdds: (inputs: Inputs) => number) {
  const random = seededRandom(seed);
  const inputs = Array.from({ length: count }, (): Inputs => {
    const [a = 0, b = 0, c = 0, d = 0] = Array.from({ length: 4 }, () => 4 * random() - 2);
    return [a, b, c, d];
  });
  return { inputs, outcomes: inputs.map((row) => (random() < sigmoid(logOdds(row)) ? 1 : 0)) };
}

describe('fitStack()', () => {
  test('leaves a head as it is where there is nothing to learn from', () => {
    const asItIs = { intercept: 0, weights: [1, 1, 0, 0] };
    expect(fitStack([], [])).toEqual(asItIs);
    expect(fitStack([[1, 2, 3, 4]], [undefined])).toEqual(asItIs);
  });

  test('trusts a head less whose log odds are too large', () => {
    const { inputs, outcomes } = drawn(3_000, 1, ([ngrams, features]) => 0.4 * ngrams + features);
    const { weights } = fitStack(inputs, outcomes);
    expect(weights[0]).toBeGreaterThan(0.3);
    expect(weights[0]).toBeLessThan(0.55);
    expect(weights[1]).toBeGreaterThan(0.85);
  });

  test('finds what is missing, and what the other head knows', () => {
    const { inputs, outcomes } = drawn(3_000, 2, (row) => row[0] + row[1] + 0.7 * row[2] - 0.8);
    const { intercept, weights } = fitStack(inputs, outcomes);
    expect(intercept).toBeCloseTo(-0.8, 0);
    expect(weights[2]).toBeGreaterThan(0.5);
    expect(Math.abs(weights[3])).toBeLessThan(0.15);
  });

  test('changes little for few outcomes', () => {
    const { inputs, outcomes } = drawn(10, 3, () => 0);
    const { weights } = fitStack(inputs, outcomes);
    expect(Math.abs(weights[0] - 1)).toBeLessThan(0.4);
    expect(Math.abs(weights[2])).toBeLessThan(0.4);
  });

  test('answers finite numbers whatever the inputs and the outcomes', () => {
    const value = fc.double({ min: -200, max: 200, noNaN: true });
    const row = fc.tuple(value, value, value, value);
    const outcome = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined });
    fc.assert(
      fc.property(fc.array(fc.tuple(row, outcome), { maxLength: 30 }), (labelled) => {
        const { intercept, weights } = fitStack(
          labelled.map(([inputs]) => inputs),
          labelled.map(([, seen]) => seen),
        );
        expect([intercept, ...weights].every(Number.isFinite)).toBe(true);
      }),
    );
  });
});
