import { describe, expect, test } from 'vitest';
import {
  decideTier,
  observe,
  type ScoreWindow,
  shareUnderPressure,
  tierByShare,
  tierOfTurn,
  unitHash,
} from '../../src/tiering/decide-tier.ts';
import { seededRandom } from '../routing/seeded-random.ts';

const window = Array.from({ length: 500 }, (_, i) => i / 500);
const base = { window, conversation: 'c' };

describe('decideTier()', () => {
  test('at a cold start says what it would do, and does not do it', () => {
    const decision = decideTier({ ...base, score: 0.2 });
    expect(decision).toMatchObject({ tier: 'weak', applied: false, because: 'cold_start', threshold: 0.5 });
  });

  test('applies a share that the user set', () => {
    expect(decideTier({ ...base, score: 0.8, share: 0.3 })).toMatchObject({
      tier: 'strong',
      applied: true,
    });
    expect(decideTier({ ...base, score: 0.6, share: 0.3 })).toEqual({
      tier: 'weak',
      applied: true,
      because: 'share',
      threshold: 0.7,
    });
  });

  test('keeps the asked model until it has seen some scores, share or not', () => {
    const decision = decideTier({ ...base, window: [], score: 0.1, share: 0.3 });
    expect(decision).toMatchObject({ applied: false, because: 'cold_start' });
  });

  test('lowers the strong share as the budget runs down', () => {
    const at = (spentOfCap: number) => decideTier({ ...base, score: 0.8, share: 0.3, spentOfCap });
    expect(at(0.8).tier).toBe('strong');
    expect(at(0.9)).toMatchObject({ tier: 'weak', because: 'share' });
    expect(at(0.95)).toEqual({ tier: 'weak', applied: true, because: 'budget' });
  });

  test('keeps the tier of a tool loop', () => {
    const decision = decideTier({
      ...base,
      score: 0.99,
      share: 0.9,
      pinned: 'weak',
      inToolLoop: true,
    });
    expect(decision).toEqual({ tier: 'weak', applied: true, because: 'tool_loop' });
  });

  test('keeps a conversation up while its cache is worth more than the saving', () => {
    const turn = {
      ...base,
      score: 0.1,
      share: 0.3,
      pinned: 'strong' as const,
      cacheLossNanoUsd: 10,
    };
    expect(decideTier({ ...turn, savingNanoUsd: 5 })).toMatchObject({ tier: 'strong', because: 'sticky' });
    expect(decideTier({ ...turn, savingNanoUsd: 15 })).toMatchObject({ tier: 'weak', because: 'share' });
  });

  test('answers the same for the same question', () => {
    const equal = Array(500).fill(0.5);
    const ask = () => decideTier({ window: equal, conversation: 'x', score: 0.5, share: 0.5 });
    expect(ask()).toEqual(ask());
  });
});

describe('tierOfTurn()', () => {
  const turn = { inToolLoop: false, savingNanoUsd: 100, cacheLossNanoUsd: 1_000 };

  test('goes where the score says at the first turn', () => {
    expect(tierOfTurn({ ...turn, pinned: undefined, choice: 'weak' })).toBe('weak');
  });

  test('goes up at any time except within a tool loop', () => {
    expect(tierOfTurn({ ...turn, pinned: 'weak', choice: 'strong' })).toBe('strong');
    expect(tierOfTurn({ ...turn, pinned: 'weak', choice: 'strong', inToolLoop: true })).toBe('weak');
  });

  test('goes down only if that saves more than the lost cache costs', () => {
    expect(tierOfTurn({ ...turn, pinned: 'strong', choice: 'weak' })).toBe('strong');
    expect(tierOfTurn({ ...turn, pinned: 'strong', choice: 'weak', savingNanoUsd: 2_000 })).toBe('weak');
  });
});

test('unitHash() spreads keys over [0,1) and answers the same each time', () => {
  const places = Array.from({ length: 1_000 }, (_, i) => unitHash(`key ${i}`));
  expect(places.every((place) => place >= 0 && place < 1)).toBe(true);
  expect(Math.abs(places.reduce((sum, place) => sum + place, 0) / 1_000 - 0.5)).toBeLessThan(0.05);
  expect(unitHash('key 7')).toBe(places[7]);
});

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
