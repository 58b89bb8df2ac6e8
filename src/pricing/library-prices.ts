import type { ModelPrice } from '@pydantic/genai-prices';
import { scaleDecimal } from './pico.ts';
import { completePrices, type Prices } from './price-card.ts';
import { dearestRate, FREE_RATE, flatRate, type Rate, type RateTier } from './rate.ts';

type LibraryPrice = ModelPrice[string];

/** Decimal places between dollars per million tokens, or per thousand requests, and pico-USD for one. */
const PER_MILLION_PLACES = 6;
const PER_THOUSAND_PLACES = 9;

/** Names of audio models, whose audio tokens cost at least ten times as much as text tokens. */
const AUDIO_MODEL = /\b(?:audio|live|realtime|voice|voxtral)\b/;

/** Names of image models, whose image tokens cost ten times as much as text tokens. OpenAI's have a single price. */
const IMAGE_MODEL = /(?<!gpt)-image\b/;

/**
 * Converts the library's prices. Undefined if they don't determine the cost of tokens: models priced per page or
 * minute, entries without a price, and audio or image models with text prices only.
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
      imageInput: rateOf(price.input_image_mtok),
      cachedImageInput: rateOf(price.cache_image_read_mtok),
      audioOutput: rateOf(price.output_audio_mtok),
      imageOutput: rateOf(price.output_image_mtok),
      perRequestPicoUsd: amount(price.requests_kcount, PER_THOUSAND_PLACES),
    },
    modelId,
  );
}

/** OpenRouter's free variants have no price in the data. For other entries a missing price is a gap. */
function isFreeVariant(modelId: string, price: ModelPrice): boolean {
  return modelId.endsWith(':free') && Object.keys(price).length === 0;
}

/**
 * The price of text output. Usage doesn't distinguish text from video, so the dearer price applies. A model without an
 * output price is for embeddings, or so old that output costs as much as input.
 */
function outputRate(price: ModelPrice): Rate | undefined {
  const image = price.output_mtok === undefined ? price.output_image_mtok : undefined;
  const rates = [price.output_mtok, image, price.output_video_mtok].map(rateOf);
  const outputRates = rates.filter((rate) => rate !== undefined);
  return outputRates.length > 0 ? dearestRate(outputRates) : undefined;
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

/** JavaScript prints a number as the decimal that the data was written with. */
function amount(price: LibraryPrice, places: number): bigint | undefined {
  return typeof price === 'number' ? scaleDecimal(String(price), places) : undefined;
}
