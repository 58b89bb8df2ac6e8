import { describe, expect, test } from 'vitest';
import { savedMoney } from '../../../src/gateway/attempt/settle.ts';
import { completePrices, createPriceCard } from '../../../src/pricing/price-card.ts';
import { flatRate } from '../../../src/pricing/rate.ts';
import { NO_USAGE } from '../../../src/usage.ts';

/** $1 a million in, $0.10 from the cache, $1.25 and $2 into it, $2 out. */
const CARD = createPriceCard(
  'test',
  completePrices(
    {
      input: flatRate(1_000_000n),
      cachedInput: flatRate(100_000n),
      cacheWrite: flatRate(1_250_000n),
      cacheWrite1h: flatRate(2_000_000n),
      output: flatRate(2_000_000n),
    },
    'test',
  ),
);
/** 1,000 tokens saved in a turn near the beginning of 10,000, and 500 in one near the end. */
const SAVINGS = [
  { tokens: 500, tokensBehind: 1_000 },
  { tokens: 1_000, tokensBehind: 8_000 },
];
const usage = { ...NO_USAGE, inputTokens: 10_000, outputTokens: 100 };
const nano = (microDollars: number) => microDollars * 1_000;

describe('savedMoney()', () => {
  test.each([
    ['the input price where nothing is cached', {}, 1_500],
    ['the cached price for what stands in the cached beginning', { cachedInputTokens: 5_000 }, 500 + 100],
    ['the cached price alone where all is cached', { cachedInputTokens: 9_900 }, 150],
    [
      'the price of writing for what is written',
      { cachedInputTokens: 5_000, cacheWriteTokens: 5_000 },
      625 + 100,
    ],
    ['the price of an hour', { cacheWrite1hTokens: 10_000 }, 3_000],
  ])('counts %s', (_, parts, microDollars) => {
    expect(savedMoney(SAVINGS, { ...usage, ...parts }, CARD)).toBe(nano(microDollars));
  });

  test('counts the dearer tier that the whole prompt would have reached', () => {
    const tiered = { picoUsd: 1_000_000n, tiers: [{ overTokens: 11_000, picoUsd: 2_000_000n }] };
    const card = createPriceCard('test', completePrices({ input: tiered, output: flatRate(0n) }, 'test'));
    expect(savedMoney(SAVINGS, usage, card)).toBe(nano(11_500 * 2 - 10_000));
  });

  test('is nothing where nothing was billed or nobody knows the price', () => {
    expect(savedMoney(SAVINGS, NO_USAGE, CARD)).toBe(0);
    expect(savedMoney(SAVINGS, usage, undefined)).toBe(0);
    expect(savedMoney([], usage, CARD)).toBe(0);
  });
});
