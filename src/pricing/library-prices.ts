import type { ModelPrice } from '@pydantic/genai-prices';
import { scaleDecimal } from './pico.ts';
import { completePrices, type Prices } from './price-card.ts';
import { dearestRate, FREE_RATE, flatRate, type Rate, type RateTier } from './rate.ts';

type LibraryPrice = ModelPrice[string];

/** From dollars per million tokens, or per thousand requests, to pico-USD for one. */
const PER_MILLION_PLACES = 6;
const PER_THOUSAND_PLACES = 9;

/** Models that are for audio, by name: their audio costs ten times their text and more. */
const AUDIO_MODEL = /\b(?:audio|live|realtime|voice|voxtral)\b/;

/** Models that make pictures, by name: a picture's tokens cost ten times those of text. OpenAI's own cost one price. */
const IMAGE_MODEL = /(?<!gpt)-image\b/;

/**
 * The library's prices as ours, or undefined where they don't tell what tokens cost: models priced by the
 * page or the minute, entries without any price, and models for audio or pictures of which only the price of text is
 * given.
 */
export function pricesFromLibrary(modelId: string, price: ModelPrice): Prices | undefined {
  if (isFreeVariant(modelId, price)) return completePrices({ input: FREE_RATE, output: FREE_RATE }, modelId);
  const input = rateOf(price.input_mtok);
  if (!input || (AUDIO_MODEL.test(modelId) && price.input_audio_mtok === undefined)) return undefined;
  if (IMAGE_MODEL.test(modelId) && price.output_image_mtok === undefined) return undefined;
  return completePrices(
    {
      input,
      output: outputRate(price) ?? input,
      cachedInput: rateOf(price.cache_read_mtok),
      cacheWrite: rateOf(price.cache_write_mtok),
      cacheWrite1h: rateOf(price.cache_write_1h_mtok),
      audioInput: rateOf(price.input_audio_mtok),
      cachedAudioInput: rateOf(price.cache_audio_read_mtok),
      audioOutput: rateOf(price.output_audio_mtok),
      perRequestPicoUsd: amount(price.requests_kcount, PER_THOUSAND_PLACES),
    },
    modelId,
  );
}

/** OpenRouter's free variants are in the data without a price; other entries without one are gaps. */
function isFreeVariant(modelId: string, price: ModelPrice): boolean {
  return modelId.endsWith(':free') && Object.keys(price).length === 0;
}

/**
 * Usage doesn't tell text from pictures, so all output of a model that makes pictures is charged as pictures.
 * A model without an output price is one for embeddings, or so old that its output costs what its input does.
 */
function outputRate(price: ModelPrice): Rate | undefined {
  const rates = [price.output_mtok, price.output_image_mtok, price.output_video_mtok].map(rateOf);
  const known = rates.filter((rate) => rate !== undefined);
  return known.length > 0 ? dearestRate(known) : undefined;
}

function rateOf(price: LibraryPrice): Rate | undefined {
  if (typeof price !== 'object') {
    const picoUsd = amount(price, PER_MILLION_PLACES);
    return picoUsd === undefined ? undefined : flatRate(picoUsd);
  }
  const base = amount(price.base, PER_MILLION_PLACES);
  if (base === undefined) return undefined;
  const tiers: RateTier[] = [];
  for (const tier of price.tiers) {
    const picoUsd = amount(tier.price, PER_MILLION_PLACES);
    if (picoUsd === undefined) return undefined;
    tiers.push({ overTokens: tier.start, picoUsd });
  }
  return { picoUsd: base, tiers: tiers.sort((a, b) => a.overTokens - b.overTokens) };
}

/** A number's shortest text is the decimal that the data was written with. */
function amount(price: LibraryPrice, places: number): bigint | undefined {
  return typeof price === 'number' ? scaleDecimal(String(price), places) : undefined;
}
