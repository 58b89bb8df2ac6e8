import fc from 'fast-check';
import { completePrices, createPriceCard, type PriceCard } from '../../src/pricing/price-card.ts';
import type { Rate } from '../../src/pricing/rate.ts';
import type { TokenUsage } from '../../src/usage.ts';

/** Up to 1,000 dollars per million tokens, and 0 often. */
const picoUsd = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 1_000_000_000n }));

/** Tiers that rise and fall: the bounds have to hold even for prices that no provider has. */
export const anyRate: fc.Arbitrary<Rate> = fc.record({
  picoUsd,
  tiers: fc
    .uniqueArray(fc.record({ overTokens: fc.integer({ min: 0, max: 400 }), picoUsd }), {
      selector: (tier) => tier.overTokens,
      maxLength: 3,
    })
    .map((tiers) => tiers.sort((a, b) => a.overTokens - b.overTokens)),
});

/** A rate that never gets cheaper with longer input, as those of all providers are. */
export const risingRate: fc.Arbitrary<Rate> = anyRate.map(({ picoUsd: base, tiers }) => {
  let least = base;
  const rising = tiers.map(({ overTokens, picoUsd: step }) => {
    least += step;
    return { overTokens, picoUsd: least };
  });
  return { picoUsd: base, tiers: rising };
});

function pricesOf(rate: fc.Arbitrary<Rate>) {
  const optional = fc.option(rate, { nil: undefined });
  return fc
    .record({
      input: rate,
      output: rate,
      cachedInput: optional,
      cacheWrite: optional,
      cacheWrite1h: optional,
      audioInput: optional,
      cachedAudioInput: optional,
      imageInput: optional,
      cachedImageInput: optional,
      imageOutput: optional,
      audioOutput: optional,
      perRequestPicoUsd: fc.option(fc.bigInt({ min: 0n, max: 20_000_000_000n }), { nil: undefined }),
    })
    .chain((stated) => fc.constantFrom('gpt-x', 'claude-x').map((model) => completePrices(stated, model)));
}

export const anyPrices = pricesOf(anyRate);

export const anyCard: fc.Arbitrary<PriceCard> = anyPrices.map((prices) => createPriceCard('test', prices));

export const risingCard: fc.Arbitrary<PriceCard> = pricesOf(risingRate).map((prices) =>
  createPriceCard('test', prices),
);

/** Usage whose parts lie within their totals, of no more than that many tokens. */
export function usageWithin(inputMost: number, outputMost: number): fc.Arbitrary<TokenUsage> {
  const share = fc.double({ min: 0, max: 1, noNaN: true });
  return fc
    .record({
      input: fc.integer({ min: 0, max: inputMost }),
      output: fc.integer({ min: 0, max: outputMost }),
      shares: fc.array(share, { minLength: 10, maxLength: 10 }),
    })
    .map(({ input, output, shares }) => {
      let left = input;
      const take = (part = 0) => {
        const taken = Math.floor(left * part);
        left -= taken;
        return taken;
      };
      const cachedInputTokens = take(shares[0]);
      const part = (of: number, at: number) => Math.floor(of * (shares[at] ?? 0));
      const cachedAudioInputTokens = part(cachedInputTokens, 4);
      const audioOutputTokens = part(output, 6);
      return {
        inputTokens: input,
        cachedInputTokens,
        cacheWriteTokens: take(shares[1]),
        cacheWrite1hTokens: take(shares[2]),
        audioInputTokens: take(shares[3]),
        cachedAudioInputTokens,
        imageInputTokens: take(shares[7]),
        cachedImageInputTokens: part(cachedInputTokens - cachedAudioInputTokens, 8),
        outputTokens: output,
        reasoningTokens: part(output, 5),
        audioOutputTokens,
        imageOutputTokens: part(output - audioOutputTokens, 9),
      };
    });
}
