import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dearestRate, flatRate, rateAt, scaleRate } from '../../src/pricing/rate.ts';
import { anyRate } from './arbitraries.ts';

const tiered = {
  picoUsd: 3n,
  tiers: [
    { overTokens: 100, picoUsd: 5n },
    { overTokens: 200, picoUsd: 4n },
  ],
};

describe('rateAt()', () => {
  test('is the price of the tier whose threshold the input has passed', () => {
    expect([0, 100, 101, 200, 201].map((tokens) => rateAt(tiered, tokens))).toEqual([3n, 3n, 5n, 5n, 4n]);
  });
});

describe('scaleRate()', () => {
  test('scales every tier and rounds up', () => {
    expect(scaleRate(tiered, 5n, 4n)).toEqual({
      picoUsd: 4n,
      tiers: [
        { overTokens: 100, picoUsd: 7n },
        { overTokens: 200, picoUsd: 5n },
      ],
    });
  });
});

describe('dearestRate()', () => {
  test('does not fall where a rate does', () => {
    expect(dearestRate([tiered])).toEqual({ picoUsd: 3n, tiers: [{ overTokens: 100, picoUsd: 5n }] });
  });

  test('is the dearest of several at each length', () => {
    expect(dearestRate([tiered, flatRate(4n)])).toEqual({
      picoUsd: 4n,
      tiers: [{ overTokens: 100, picoUsd: 5n }],
    });
  });

  test('bounds each of the rates for any input up to the one expected', () => {
    const lengths = fc.tuple(fc.nat(500), fc.nat(500));
    fc.assert(
      fc.property(fc.array(anyRate, { minLength: 1, maxLength: 4 }), lengths, (rates, [a, b]) => {
        const bound = rateAt(dearestRate(rates), Math.max(a, b));
        for (const rate of rates) expect(rateAt(rate, Math.min(a, b)) <= bound).toBe(true);
      }),
    );
  });
});
