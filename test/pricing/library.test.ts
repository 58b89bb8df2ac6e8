import { calcPrice, findProvider, type ModelPrice, type Provider } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { costOf } from '../../src/pricing/cost.ts';
import { findInLibrary, setPrices } from '../../src/pricing/library.ts';
import { pricesFromLibrary } from '../../src/pricing/library-prices.ts';
import { createPriceCard } from '../../src/pricing/price-card.ts';
import { usageWithin } from './arbitraries.ts';

/** Ours and the library's names of providers. */
const PROVIDERS = [
  ['anthropic', 'anthropic'],
  ['azure', 'azure'],
  ['cerebras', 'cerebras'],
  ['deepseek', 'deepseek'],
  ['fireworks', 'fireworks'],
  ['google', 'google'],
  ['groq', 'groq'],
  ['mistral', 'mistral'],
  ['moonshot', 'moonshotai'],
  ['openai', 'openai'],
  ['openrouter', 'openrouter'],
  ['perplexity', 'perplexity'],
  ['together', 'together'],
  ['xai', 'x-ai'],
] as const;

const AT = new Date('2026-11-20T12:00:00Z');

/** What our usage has no counterpart for, or prices on purpose otherwise than the library. */
const DIFFERENT = ['output_image_mtok', 'output_video_mtok', 'output_reasoning_mtok'];

function provider(id: string): Provider {
  const found = findProvider({ providerId: id });
  if (!found) throw new Error(`the data has no ${id} any more`);
  return found;
}

interface Listed {
  name: string;
  providerId: string;
  modelId: string;
  price: ModelPrice;
}

const LISTED: Listed[] = PROVIDERS.flatMap(([name, id]) =>
  provider(id).models.flatMap(({ id: modelId }) => {
    const found = calcPrice({}, modelId, { providerId: id, timestamp: AT });
    return found ? [{ name, providerId: id, modelId, price: found.model_price }] : [];
  }),
);

// Another file of the same process may have left its own data in use.
beforeEach(() => setPrices(undefined));

describe('findInLibrary()', () => {
  test.each(PROVIDERS)('knows the models of %s', (name, id) => {
    const names = provider(id).models.map((model) => model.id);
    const known = names.filter((model) => findInLibrary(name, model, AT.getTime()));
    // Some entries match longer names than their own, such as a fine-tuned model's or Fireworks' full paths.
    const minimum = id === 'fireworks' ? 0 : 0.9;
    expect(known.length / names.length).toBeGreaterThanOrEqual(minimum);
  });
});

describe('the bundled data', () => {
  test('is converted without loss wherever it prices tokens', () => {
    const unpriced = LISTED.filter(({ modelId, price }) => !pricesFromLibrary(modelId, price));
    expect(LISTED.length).toBeGreaterThan(1_000);
    for (const { price, modelId } of unpriced) {
      const isForMedia = /audio|live|realtime|voice|voxtral|[^t]-image/.test(modelId);
      expect(price.input_mtok === undefined || isForMedia, modelId).toBe(true);
    }
  });

  test('has no tier that is cheaper than the one below it, so that costs are monotone', () => {
    for (const { modelId, price } of LISTED) {
      for (const value of Object.values(price)) {
        if (typeof value !== 'object') continue;
        const steps = [value.base, ...value.tiers.map((tier) => tier.price)];
        expect(steps, modelId).toEqual([...steps].sort((a, b) => a - b));
      }
    }
  });

  test('gives the costs that the library itself works out', () => {
    const comparable = LISTED.filter(
      ({ price }) => price.output_mtok !== undefined && !DIFFERENT.some((name) => name in price),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...comparable),
        usageWithin(500_000, 100_000),
        ({ modelId, providerId, price }, used) => {
          const prices = pricesFromLibrary(modelId, price);
          if (!prices) return;
          // What has no price of its own the library takes for text that is neither cached nor written.
          const only = (name: string, tokens: number) => (name in price ? tokens : 0);
          const usage = {
            ...used,
            cachedInputTokens: only('cache_read_mtok', used.cachedInputTokens),
            cacheWriteTokens: only('cache_write_mtok', used.cacheWriteTokens),
            cacheWrite1hTokens: only('cache_write_1h_mtok', used.cacheWrite1hTokens),
            audioInputTokens: only('input_audio_mtok', used.audioInputTokens),
            cachedAudioInputTokens: only('cache_audio_read_mtok', used.cachedAudioInputTokens),
            imageInputTokens: only('input_image_mtok', used.imageInputTokens),
            cachedImageInputTokens: only('cache_image_read_mtok', used.cachedImageInputTokens),
            audioOutputTokens: only('output_audio_mtok', used.audioOutputTokens),
            imageOutputTokens: only('output_image_mtok', used.imageOutputTokens),
          };
          const ours = costOf(usage, createPriceCard('test', prices));
          const theirs = calcPrice(
            {
              input_tokens: usage.inputTokens,
              cache_read_tokens: usage.cachedInputTokens,
              cache_write_tokens: usage.cacheWriteTokens + usage.cacheWrite1hTokens,
              cache_write_1h_tokens: usage.cacheWrite1hTokens,
              input_audio_tokens: usage.audioInputTokens + usage.cachedAudioInputTokens,
              cache_audio_read_tokens: usage.cachedAudioInputTokens,
              input_image_tokens: usage.imageInputTokens + usage.cachedImageInputTokens,
              cache_image_read_tokens: usage.cachedImageInputTokens,
              output_tokens: usage.outputTokens,
              output_image_tokens: usage.imageOutputTokens,
              output_audio_tokens: usage.audioOutputTokens,
            },
            modelId,
            { providerId, timestamp: AT },
          );
          const expected = (theirs?.total_price ?? -1) * 1e9;
          // Ours is rounded up, and so are the few prices that are finer than a pico-dollar per token.
          const roundedUp = 1 + (usage.inputTokens + usage.outputTokens) / 1_000;
          const floatError = 1e-6 + expected * 1e-12;
          expect(ours).toBeGreaterThanOrEqual(expected - floatError);
          expect(ours).toBeLessThanOrEqual(expected + roundedUp + floatError);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
