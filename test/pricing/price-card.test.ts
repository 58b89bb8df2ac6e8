import { describe, expect, test } from 'vitest';
import {
  cardFor,
  completePrices,
  createPriceCard,
  dependsOn,
  freeCard,
  type StatedPrices,
  scaleCard,
} from '../../src/pricing/price-card.ts';
import { ANY_PRICE, PLAIN_TEXT, type PriceProfile } from '../../src/pricing/price-profile.ts';
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
      imageInput: input,
      cachedImageInput: input,
      output,
      audioOutput: output,
      imageOutput: output,
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

  test.each([
    ['gpt-5.6-sol', 1_250n],
    ['openai/gpt-6-luna', 1_250n],
    ['gpt-5.10', 1_250n],
    ['gpt-10-mini', 1_250n],
    ['gpt-5.5', 1_000n],
    ['gpt-5', 1_000n],
    ['gpt-4.1', 1_000n],
    ['gpt-oss-120b', 1_000n],
    ['gemini-6', 1_000n],
  ])('takes %s to write its cache at %d', (model, picoUsd) => {
    expect(completePrices({ input, output }, model).cacheWrite).toEqual(flatRate(picoUsd));
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
    const { dearest, bounds, ...prices } = createPriceCard('somewhere', now, [soon]);
    expect(prices).toEqual({ source: 'somewhere', ...now });
    expect(bounds).toEqual({ ...now, audioOutput: flatRate(9_000n), perRequestPicoUsd: 7n });
    expect(dearest).toEqual({ input: flatRate(1_250n), output: flatRate(9_000n), perRequestPicoUsd: 7n });
  });

  test('knows a free card', () => {
    expect(freeCard('local').dearest).toEqual({ input: FREE_RATE, output: FREE_RATE, perRequestPicoUsd: 0n });
  });
});

describe('cardFor()', () => {
  const prices = completePrices(
    {
      input,
      output,
      cachedInput: flatRate(100n),
      cacheWrite: flatRate(1_250n),
      cacheWrite1h: flatRate(2_000n),
      audioInput: flatRate(32_000n),
      audioOutput: flatRate(64_000n),
    },
    'm',
  );
  const card = createPriceCard('test', prices);

  test.each<[string, Partial<PriceProfile>, bigint, bigint]>([
    ['text', {}, 1_000n, 5_000n],
    ['cache writes', { cacheWrites: 'default' }, 1_250n, 5_000n],
    ['cache writes for an hour', { cacheWrites: '1h' }, 2_000n, 5_000n],
    ['audio in', { audioInput: true }, 32_000n, 5_000n],
    ['audio out', { audioOutput: true }, 1_000n, 64_000n],
  ])(
    'holds %s at its dearest price, and settles at all of them',
    (_, profile, dearestInput, dearestOutput) => {
      const { dearest, ...rest } = cardFor(card, { ...PLAIN_TEXT, ...profile });
      expect(dearest).toMatchObject({ input: flatRate(dearestInput), output: flatRate(dearestOutput) });
      expect(rest).toEqual({ source: 'test', ...prices, bounds: card.bounds });
    },
  );

  test('counts the prices to come', () => {
    const dearer = { ...prices, cacheWrite: flatRate(3_000n), cacheWrite1h: flatRate(9_000n) };
    const coming = createPriceCard('test', prices, [dearer]);
    expect(cardFor(coming, { ...PLAIN_TEXT, cacheWrites: 'default' }).dearest.input).toEqual(
      flatRate(3_000n),
    );
    expect(cardFor(coming, PLAIN_TEXT).dearest.input).toEqual(input);
  });

  test('adds a write price below the input price to it, as it is for storage alone', () => {
    const gemini = createPriceCard('test', { ...prices, cacheWrite: flatRate(80n) });
    expect(cardFor(gemini, { ...PLAIN_TEXT, cacheWrites: 'default' }).dearest.input).toEqual(
      flatRate(1_080n),
    );
  });

  test('drops the tiers of long inputs where none can come', () => {
    const long = { picoUsd: 1_000n, tiers: [{ overTokens: 200, picoUsd: 2_000n }] };
    const tiered = createPriceCard('test', completePrices({ input: long, output: long }, 'm'));
    expect(cardFor(tiered, { ...PLAIN_TEXT, longInput: false }).dearest).toMatchObject({
      input,
      output: input,
    });
    expect(cardFor(tiered, PLAIN_TEXT).dearest.input.tiers).toEqual([{ overTokens: 199, picoUsd: 2_000n }]);
  });

  test('scales with its dearest prices', () => {
    expect(scaleCard(cardFor(card, PLAIN_TEXT), 1.1).dearest.input).toEqual(flatRate(1_100n));
    expect(scaleCard(card, 1.1).cacheWrite1h).toEqual(flatRate(2_200n));
  });

  test('gives the same card for the same profile', () => {
    expect(cardFor(card, { ...PLAIN_TEXT })).toBe(cardFor(card, { ...PLAIN_TEXT }));
    expect(cardFor(card, ANY_PRICE)).not.toBe(cardFor(card, PLAIN_TEXT));
    expect(scaleCard(card, 1.1)).toBe(scaleCard(card, 1.1));
    expect(scaleCard(card, 1.1)).not.toBe(scaleCard(card, 2.5));
  });
});

describe('dependsOn()', () => {
  const long = { picoUsd: 1_000n, tiers: [{ overTokens: 200, picoUsd: 2_000n }] };
  const longWrites = { picoUsd: 1_000n, tiers: [{ overTokens: 200, picoUsd: 3_000n }] };
  test.each<[string, boolean, Partial<StatedPrices>, Partial<PriceProfile>]>([
    ['cache writes without a price', false, {}, { cacheWrites: '1h' }],
    ['cache writes with a price', true, { cacheWrite: flatRate(1_250n) }, { cacheWrites: '1h' }],
    [
      'cache writes with a price for long inputs',
      true,
      { input: long, cacheWrite: longWrites },
      { cacheWrites: '1h' },
    ],
    ['cache writes at the price of long inputs', false, { input: long }, { cacheWrites: '1h' }],
    ['cache writes at the price of audio', false, { audioInput: flatRate(9_000n) }, { cacheWrites: '1h' }],
    ['audio in', true, { audioInput: flatRate(9_000n) }, { audioInput: true }],
    ['audio out', true, { audioOutput: flatRate(9_000n) }, { audioOutput: true }],
    ['audio that costs less than text', false, { audioInput: flatRate(1n) }, { audioInput: true }],
    ['long inputs', true, { input: long }, { longInput: false }],
  ])('tells of %s: %s', (_, expected, stated, part) => {
    const card = createPriceCard('test', completePrices({ input, output, ...stated }, 'm'));
    expect(dependsOn(card, part)).toBe(expected);
  });
});
