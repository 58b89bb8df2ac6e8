import { describe, expect, test } from 'vitest';
import { decideTier, type TierQuestion, tierOfTurn } from '../../src/tiering/decide-tier.ts';

const window = Array.from({ length: 500 }, (_, i) => i / 500);
const scored = (score: number, gain?: number): TierQuestion['scored'] => ({
  score,
  basis: gain === undefined ? 'prior' : 'learnt',
  why: [],
  ...(gain === undefined ? {} : { gain }),
});
const base = { window, conversation: 'c' };

describe('decideTier()', () => {
  test('at a cold start says what it would do, and does not do it', () => {
    const decision = decideTier({ ...base, scored: scored(0.2) });
    expect(decision).toMatchObject({ tier: 'weak', applied: false, because: 'cold_start', threshold: 0.5 });
  });

  test('applies a share that the user set', () => {
    expect(decideTier({ ...base, scored: scored(0.8), share: 0.3 })).toMatchObject({
      tier: 'strong',
      applied: true,
    });
    expect(decideTier({ ...base, scored: scored(0.6), share: 0.3 })).toEqual({
      tier: 'weak',
      applied: true,
      because: 'share',
      threshold: 0.7,
    });
  });

  test('keeps the asked model until it has seen some scores, share or not', () => {
    const decision = decideTier({ ...base, window: [], scored: scored(0.1), share: 0.3 });
    expect(decision).toMatchObject({ applied: false, because: 'cold_start' });
  });

  test('goes by the learnt gain where no share is set', () => {
    expect(decideTier({ ...base, scored: scored(0.9, 0.01) })).toMatchObject({
      tier: 'weak',
      applied: true,
      because: 'gain',
    });
    expect(decideTier({ ...base, scored: scored(0.1, 0.2) })).toMatchObject({
      tier: 'strong',
      applied: true,
      because: 'gain',
    });
  });

  test('lowers the strong share as the budget runs down', () => {
    const at = (spentOfCap: number) => decideTier({ ...base, scored: scored(0.8), share: 0.3, spentOfCap });
    expect(at(0.8).tier).toBe('strong');
    expect(at(0.9)).toMatchObject({ tier: 'weak', because: 'share' });
    expect(at(0.95)).toEqual({ tier: 'weak', applied: true, because: 'budget' });
    expect(decideTier({ ...base, scored: scored(0.1, 0.2), spentOfCap: 0.9 })).toMatchObject({
      tier: 'weak',
      because: 'budget',
    });
  });

  test('exempts a request that asked for the strong tier', () => {
    const decision = decideTier({
      ...base,
      scored: scored(0.1),
      share: 0.3,
      spentOfCap: 0.99,
      minTier: 'strong',
    });
    expect(decision).toEqual({ tier: 'strong', applied: true, because: 'min_tier' });
  });

  test('keeps the tier of a tool loop', () => {
    const decision = decideTier({
      ...base,
      scored: scored(0.99),
      share: 0.9,
      pinned: 'weak',
      inToolLoop: true,
    });
    expect(decision).toEqual({ tier: 'weak', applied: true, because: 'tool_loop' });
  });

  test('keeps a conversation up while its cache is worth more than the saving', () => {
    const turn = {
      ...base,
      scored: scored(0.1),
      share: 0.3,
      pinned: 'strong' as const,
      cacheLossNanoUsd: 10,
    };
    expect(decideTier({ ...turn, savingNanoUsd: 5 })).toMatchObject({ tier: 'strong', because: 'sticky' });
    expect(decideTier({ ...turn, savingNanoUsd: 15 })).toMatchObject({ tier: 'weak', because: 'share' });
  });

  test('answers the same for the same question', () => {
    const equal = Array(500).fill(0.5);
    const ask = () => decideTier({ window: equal, conversation: 'x', scored: scored(0.5), share: 0.5 });
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
