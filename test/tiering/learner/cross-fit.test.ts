import { describe, expect, test } from 'vitest';
import { crossFit } from '../../../src/tiering/learner/cross-fit.ts';
import { encode } from '../../../src/tiering/learner/encode.ts';
import type { Example, Heads } from '../../../src/tiering/learner/head.ts';
import { newHead, probability, step } from '../../../src/tiering/learner/head.ts';
import { readPrompt } from '../../../src/tiering/prompt.ts';
import { seededRandom } from '../../routing/seeded-random.ts';

const encoded = (text: string) => encode(readPrompt([{ role: 'user', content: text }]));
const newHeads = (): Heads => ({ weak: newHead(), strong: newHead() });

/** The weak tier can do what is about tea; the strong one can do everything but what is about lattices. */
function examples(count: number, seed: number): Example[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => {
    const topic = ['tea', 'glaciers', 'lattices'][Math.floor(3 * random())] ?? '';
    return {
      encoded: encoded(`Tell me of ${topic} that ${random().toFixed(2)} people saw.`),
      outcome: { weak: topic === 'tea' ? 1 : 0, strong: topic === 'lattices' ? 0 : 1 },
    };
  });
}

describe('crossFit()', () => {
  test('learns what each tier can do', () => {
    const { weak, strong } = crossFit(newHeads(), examples(300, 1));
    const tea = encoded('Tell me of tea that 0.5 people saw.');
    const glaciers = encoded('Tell me of glaciers that 0.5 people saw.');
    const lattices = encoded('Tell me of lattices that 0.5 people saw.');
    expect(probability(weak, tea)).toBeGreaterThan(0.8);
    expect(probability(weak, glaciers)).toBeLessThan(0.2);
    expect(probability(strong, glaciers)).toBeGreaterThan(0.8);
    expect(probability(strong, lattices)).toBeLessThan(0.2);
  });

  test('is less sure of coin tosses than heads that know them by heart', () => {
    const random = seededRandom(2);
    const tossed = examples(300, 3).map(({ encoded: prompt }): Example => {
      return { encoded: prompt, outcome: { weak: random() < 0.5 ? 1 : 0, strong: 1 } };
    });
    const byHeart = newHead();
    for (let epoch = 0; epoch < 6; epoch++) {
      for (const { encoded: prompt, outcome } of tossed) step(byHeart, prompt, outcome.weak ?? 0);
    }
    const { weak } = crossFit(newHeads(), tossed);
    const fresh = examples(200, 4);
    const doubt = (head: typeof weak) =>
      fresh.reduce((sum, { encoded: prompt }) => sum + Math.abs(probability(head, prompt) - 0.5), 0);
    expect(doubt(weak)).toBeLessThan(doubt(byHeart));
  });

  test('leaves alone the heads that it starts from, and a tier that was never asked', () => {
    const before = newHeads();
    const weakOnly = examples(60, 5).map(({ encoded: prompt, outcome }): Example => {
      return { encoded: prompt, outcome: { weak: outcome.weak ?? 0 } };
    });
    const { strong } = crossFit(before, weakOnly);
    expect(before).toEqual(newHeads());
    expect(strong).toEqual(newHead());
  });

  test('does not grow surer and surer of labels that are learnt again', () => {
    const again = examples(100, 6);
    const largest = (heads: Heads) =>
      heads.weak.ngramWeights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
    const once = crossFit(newHeads(), again);
    let heads = once;
    for (let time = 0; time < 5; time++) heads = crossFit(heads, again);
    expect(largest(heads)).toBeLessThan(3 * largest(once));
  });
});
