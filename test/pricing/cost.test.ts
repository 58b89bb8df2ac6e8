import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Amount, amountOf, bookBound } from '../../src/money.ts';
import { affordableOutputTokens, costOf, isFree, worstCase } from '../../src/pricing/cost.ts';
import { completePrices, createPriceCard, freeCard } from '../../src/pricing/price-card.ts';
import { flatRate } from '../../src/pricing/rate.ts';
import { NO_USAGE, type TokenUsage } from '../../src/usage.ts';
import { anyCard, anyPrices, risingCard, usageWithin } from './arbitraries.ts';

const mini = createPriceCard(
  'test',
  completePrices(
    { input: flatRate(150_000n), cachedInput: flatRate(75_000n), output: flatRate(600_000n) },
    'mini',
  ),
);

/** A bound, and usage within it. */
const boundAndUsage = fc
  .record({
    inputTokens: fc.nat(1_000),
    outputTokens: fc.nat(1_000),
    choices: fc.integer({ min: 1, max: 8 }),
  })
  .chain((bound) =>
    fc.tuple(fc.constant(bound), usageWithin(bound.inputTokens, bound.outputTokens * bound.choices)),
  );

describe('costOf()', () => {
  test('rounds up once, not part by part', () => {
    const usage: TokenUsage = { ...NO_USAGE, inputTokens: 3, cachedInputTokens: 1, outputTokens: 1 };
    // 2 x 150 + 1 x 75 + 1 x 600 nano-USD
    expect(costOf(usage, mini)).toBe(975);
    const tiny = createPriceCard('test', completePrices({ input: flatRate(1n), output: flatRate(1n) }, 'm'));
    expect(costOf(usage, tiny)).toBe(1);
    expect(costOf(NO_USAGE, tiny)).toBe(0);
  });

  test('stays exact where a float would not', () => {
    const card = createPriceCard(
      'test',
      completePrices({ input: flatRate(999_999_999n), output: flatRate(1n) }, 'm'),
    );
    // 987654321 x 999999999 = 987654320012345679 pico-USD, more than 2^53
    expect(costOf({ ...NO_USAGE, inputTokens: 987_654_321 }, card)).toBe(987_654_320_012_346);
  });

  test('never falls when a token is added', () => {
    const kinds = fc.constantFrom<Partial<TokenUsage>>(
      { inputTokens: 1 },
      { inputTokens: 1, cachedInputTokens: 1 },
      { inputTokens: 1, cachedInputTokens: 1, cachedAudioInputTokens: 1 },
      { inputTokens: 1, cacheWriteTokens: 1 },
      { inputTokens: 1, cacheWrite1hTokens: 1 },
      { inputTokens: 1, audioInputTokens: 1 },
      { outputTokens: 1 },
      { outputTokens: 1, reasoningTokens: 1 },
      { outputTokens: 1, audioOutputTokens: 1 },
    );
    fc.assert(
      fc.property(risingCard, usageWithin(500, 500), kinds, (card, usage, more) => {
        const grown = { ...usage };
        for (const name of Object.keys(more) as (keyof TokenUsage)[]) grown[name] += 1;
        expect(costOf(grown, card)).toBeGreaterThanOrEqual(costOf(usage, card));
      }),
      { numRuns: 500 },
    );
  });
});

describe('worstCase()', () => {
  test('is never less than what any usage within the bound costs', () => {
    fc.assert(
      fc.property(anyCard, boundAndUsage, (card, [bound, usage]) => {
        expect(costOf(usage, card)).toBeLessThanOrEqual(worstCase(bound, card));
      }),
      { numRuns: 2_000 },
    );
  });

  test('is never less than that at the prices of a time to come', () => {
    fc.assert(
      fc.property(anyPrices, anyPrices, boundAndUsage, (now, later, [bound, usage]) => {
        const held = worstCase(bound, createPriceCard('now', now, [later]));
        expect(costOf(usage, createPriceCard('later', later))).toBeLessThanOrEqual(held);
      }),
      { numRuns: 500 },
    );
  });

  test('is reached: all input of the dearest kind, all output of the dearest kind', () => {
    const prices = completePrices(
      {
        input: flatRate(1_000n),
        cacheWrite1h: flatRate(2_000n),
        output: flatRate(5_000n),
        audioOutput: flatRate(9_000n),
        perRequestPicoUsd: 7_000n,
      },
      'm',
    );
    const card = createPriceCard('test', prices);
    const usage = {
      ...NO_USAGE,
      inputTokens: 10,
      cacheWrite1hTokens: 10,
      outputTokens: 40,
      audioOutputTokens: 40,
    };
    expect(worstCase({ inputTokens: 10, outputTokens: 20, choices: 2 }, card)).toBe(costOf(usage, card));
    expect(costOf(usage, card)).toBe(7 + 10 * 2 + 40 * 9);
  });

  test('does not hold the price of a tier that the input cannot reach', () => {
    const input = { picoUsd: 1_000n, tiers: [{ overTokens: 100, picoUsd: 2_000n }] };
    const card = createPriceCard('test', completePrices({ input, output: flatRate(0n) }, 'm'));
    expect(worstCase({ inputTokens: 99, outputTokens: 0, choices: 1 }, card)).toBe(99);
    expect(worstCase({ inputTokens: 101, outputTokens: 0, choices: 1 }, card)).toBe(202);
  });

  test('holds the dearer price of a tier at its threshold, which may belong to either', () => {
    const input = { picoUsd: 1_000n, tiers: [{ overTokens: 100, picoUsd: 2_000n }] };
    const card = createPriceCard('test', completePrices({ input, output: flatRate(0n) }, 'm'));
    expect(worstCase({ inputTokens: 100, outputTokens: 0, choices: 1 }, card)).toBe(200);
  });

  test('never falls when the bound grows', () => {
    const grown = fc.tuple(fc.nat(50), fc.nat(50), fc.nat(3));
    fc.assert(
      fc.property(anyCard, boundAndUsage, grown, (card, [bound], [input, output, choices]) => {
        const wider = {
          inputTokens: bound.inputTokens + input,
          outputTokens: bound.outputTokens + output,
          choices: bound.choices + choices,
        };
        expect(worstCase(wider, card)).toBeGreaterThanOrEqual(worstCase(bound, card));
      }),
      { numRuns: 500 },
    );
  });

  test('takes any bound that a client can write', () => {
    const most = Number.MAX_SAFE_INTEGER;
    expect(worstCase({ inputTokens: most, outputTokens: most, choices: most }, mini)).toBe(most);
  });
});

describe('affordableOutputTokens()', () => {
  test('is the exact inverse of worstCase()', () => {
    const request = fc.record({
      room: fc.nat(2_000_000_000),
      inputTokens: fc.nat(1_000),
      choices: fc.integer({ min: 1, max: 8 }),
    });
    fc.assert(
      fc.property(anyCard, request, (card, { room, inputTokens, choices }) => {
        const outputTokens = affordableOutputTokens(room, inputTokens, choices, card);
        const costs = (tokens: number) => worstCase({ inputTokens, outputTokens: tokens, choices }, card);
        if (outputTokens === -1) {
          expect(costs(0)).toBeGreaterThan(room);
          return;
        }
        expect(costs(outputTokens)).toBeLessThanOrEqual(room);
        if (outputTokens < Number.MAX_SAFE_INTEGER) expect(costs(outputTokens + 1)).toBeGreaterThan(room);
      }),
      { numRuns: 2_000 },
    );
  });

  test('tells no room for the input from no room for an answer', () => {
    // 10 tokens of input are 1,500 nano-USD
    expect(affordableOutputTokens(1_499, 10, 1, mini)).toBe(-1);
    expect(affordableOutputTokens(1_500, 10, 1, mini)).toBe(0);
    expect(affordableOutputTokens(1_500 + 600 * 7, 10, 1, mini)).toBe(7);
    expect(affordableOutputTokens(1_500 + 600 * 7, 10, 2, mini)).toBe(3);
    expect(affordableOutputTokens(-1, 0, 1, mini)).toBe(-1);
  });

  test('has no end where output costs nothing', () => {
    expect(affordableOutputTokens(0, 1_000_000, 3, freeCard('local'))).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe('isFree()', () => {
  test('means that nothing can cost anything', () => {
    fc.assert(
      fc.property(anyCard, boundAndUsage, (card, [bound, usage]) => {
        if (isFree(card)) expect([worstCase(bound, card), costOf(usage, card)]).toEqual([0, 0]);
        else expect(worstCase({ inputTokens: 1_000, outputTokens: 1, choices: 1 }, card)).toBeGreaterThan(0);
      }),
    );
    expect(isFree(freeCard('local'))).toBe(true);
    expect(isFree(mini)).toBe(false);
  });

  test('is no for a price of requests alone', () => {
    const prices = completePrices({ input: flatRate(0n), output: flatRate(0n), perRequestPicoUsd: 1n }, 'm');
    expect(isFree(createPriceCard('test', prices))).toBe(false);
  });
});

test('a bound does not compile as a cost that is booked', () => {
  const bound = worstCase({ inputTokens: 5, outputTokens: 0, choices: 1 }, mini);
  // @ts-expect-error
  const cost: Amount = bound;
  // @ts-expect-error
  expect(amountOf(bound)).toBe(cost);
  expect(bookBound(bound)).toBe(cost);
});
