import { describe, expect, test } from 'vitest';
import { completePrices, createPriceCard, freeCard } from '../../src/pricing/price-card.ts';
import { FREE_RATE, flatRate } from '../../src/pricing/rate.ts';

const input = flatRate(1_000n);
const output = flatRate(5_000n);

describe('completePrices()', () => {
  test('takes the input price for whatever part of the input has none, never 0', () => {
    expect(completePrices({ input, output }, 'some-model')).toEqual({
      input,
      cachedInput: input,
      cacheWrite: input,
      cacheWrite1h: input,
      audioInput: input,
      cachedAudioInput: input,
      output,
      audioOutput: output,
      perRequestPicoUsd: 0n,
    });
  });

  test('keeps a price of 0 that is stated', () => {
    expect(completePrices({ input, output, cachedInput: FREE_RATE }, 'some-model').cachedInput).toEqual(
      FREE_RATE,
    );
  });

  test("knows what Claude's cache writes cost, to the input price's tiers", () => {
    const long = { picoUsd: 3_000n, tiers: [{ overTokens: 200_000, picoUsd: 6_000n }] };
    const prices = completePrices({ input: long, output }, 'anthropic/claude-sonnet-4.5');
    expect(prices.cacheWrite).toEqual({ picoUsd: 3_750n, tiers: [{ overTokens: 200_000, picoUsd: 7_500n }] });
    expect(prices.cacheWrite1h).toEqual({
      picoUsd: 6_000n,
      tiers: [{ overTokens: 200_000, picoUsd: 12_000n }],
    });
  });

  test("charges another model's long cache writes like its short ones", () => {
    const cacheWrite = flatRate(1_250n);
    expect(completePrices({ input, output, cacheWrite }, 'gpt-x').cacheWrite1h).toEqual(cacheWrite);
  });

  test('does not charge cached audio at the price of cached text where fresh audio has its own', () => {
    const stated = { input, output, cachedInput: flatRate(100n), audioInput: flatRate(40_000n) };
    expect(completePrices(stated, 'gpt-x').cachedAudioInput).toEqual(flatRate(40_000n));
  });
});

describe('createPriceCard()', () => {
  test('bounds every kind of token and every price that may yet apply', () => {
    const now = completePrices({ input, output, cacheWrite: flatRate(1_250n) }, 'm');
    const soon = completePrices({ input, output, audioOutput: flatRate(9_000n), perRequestPicoUsd: 7n }, 'm');
    const { dearest, ...prices } = createPriceCard('somewhere', now, [soon]);
    expect(prices).toEqual({ source: 'somewhere', ...now });
    expect(dearest).toEqual({ input: flatRate(1_250n), output: flatRate(9_000n), perRequestPicoUsd: 7n });
  });

  test('knows a free card', () => {
    expect(freeCard('local').dearest).toEqual({ input: FREE_RATE, output: FREE_RATE, perRequestPicoUsd: 0n });
  });
});
