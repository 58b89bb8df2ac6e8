import { describe, expect, test } from 'vitest';
import { observe, type ScoreWindow, shareUnderPressure, tierByShare } from '../../src/tiering/share.ts';
import { seededRandom } from '../routing/seeded-random.ts';

/** The share of strong answers among `count` requests, the first 500 not counted. */
function servedShare(share: number, count: number, scoreOf: (i: number) => number): number {
  const window: ScoreWindow = [];
  const random = seededRandom(1);
  let strong = 0;
  for (let i = 0; i < count; i++) {
    const score = scoreOf(i);
    const decision = tierByShare(window, { score, share, tieBreak: random() });
    observe(window, score);
    if (i >= 500 && decision?.tier === 'strong') strong++;
  }
  return strong / (count - 500);
}

describe('tierByShare()', () => {
  test.each([0.05, 0.3, 0.5, 0.9])('sends a share of %f to the strong tier', (share) => {
    const random = seededRandom(2);
    expect(Math.abs(servedShare(share, 3_000, () => random() ** 3) - share)).toBeLessThan(0.02);
  });

  test('keeps the share when all scores are equal', () => {
    expect(Math.abs(servedShare(0.3, 5_000, () => 0.5) - 0.3)).toBeLessThan(0.02);
  });

  test('keeps the share while the scores drift', () => {
    const random = seededRandom(3);
    const served = servedShare(0.3, 6_000, (i) => 0.2 + (i / 6_000) * 0.3 + random() * 0.3);
    expect(Math.abs(served - 0.3)).toBeLessThan(0.05);
  });

  test('sends nothing up at a share of 0 and everything at 1', () => {
    const random = seededRandom(4);
    expect(servedShare(0, 1_500, random)).toBe(0);
    expect(servedShare(1, 1_500, random)).toBe(1);
  });

  test('does not decide on fewer than 20 scores', () => {
    expect(tierByShare(Array(19).fill(0.5), { score: 0.9, share: 0.5, tieBreak: 0 })).toBeUndefined();
  });

  test('names the threshold that the score was held against', () => {
    const window = Array.from({ length: 100 }, (_, i) => i / 100);
    expect(tierByShare(window, { score: 0.9, share: 0.3, tieBreak: 0 })).toEqual({
      tier: 'strong',
      threshold: 0.7,
    });
    expect(tierByShare(window, { score: 0.5, share: 0.3, tieBreak: 0 })).toEqual({
      tier: 'weak',
      threshold: 0.7,
    });
  });
});

describe('shareUnderPressure()', () => {
  test.each([
    [0, 0.4],
    [0.8, 0.4],
    [0.875, 0.2],
    [0.95, 0],
    [1.2, 0],
  ])('at %f of the cap a share of 0.4 is %f', (spent, expected) => {
    expect(shareUnderPressure(0.4, spent)).toBeCloseTo(expected, 10);
  });
});
