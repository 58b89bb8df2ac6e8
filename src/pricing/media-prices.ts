import { findInLibrary } from './library.ts';
import { scaleDecimal } from './pico.ts';

/** Prices of pictures, sound and film, in integer pico-USD. Undefined where nothing is known. */
export interface MediaPrices {
  /** For a picture; `size` and `quality` as the request has them, empty where it has none. */
  image?: (size: string, quality: string) => bigint | undefined;
  /** For a second of sound or film. */
  second?: (size: string) => bigint | undefined;
  /** For a character of text that is spoken. */
  character?: bigint;
}

const usd = (text: string, places = 12): bigint => scaleDecimal(text, places) ?? 0n;
/** Dollars per million characters. */
const perMillion = (text: string): bigint => usd(text, 6);

const HD = /^hd$/i;
const SQUARE = '1024x1024';

/**
 * What OpenAI lists and the library doesn't have, November 2026: https://developers.openai.com/api/docs/models/tts-1,
 * .../tts-1-hd, .../sora-2. DALL-E and Sora have been shut down there since, and are as they were last. Without a
 * size or quality, DALL-E draws 1024x1024 (https://platform.openai.com/docs/api-reference/images/create), and Sora films
 * 720x1280 (https://platform.openai.com/docs/api-reference/videos/create).
 */
const PUBLISHED: Readonly<Record<string, MediaPrices>> = {
  'dall-e-2': {
    image: (size) => imageBySize({ '256x256': '0.016', '512x512': '0.018', [SQUARE]: '0.02' }, size),
  },
  'dall-e-3': {
    image: (size, quality) =>
      HD.test(quality)
        ? imageBySize({ [SQUARE]: '0.08', '1024x1792': '0.12', '1792x1024': '0.12' }, size)
        : imageBySize({ [SQUARE]: '0.04', '1024x1792': '0.08', '1792x1024': '0.08' }, size),
  },
  'tts-1': { character: perMillion('15') },
  'tts-1-1106': { character: perMillion('15') },
  'tts-1-hd': { character: perMillion('30') },
  'tts-1-hd-1106': { character: perMillion('30') },
  'sora-2': { second: (size) => secondOf({ '720': '0.1' }, size) },
  'sora-2-pro': { second: (size) => secondOf({ '720': '0.3', '1024': '0.5' }, size) },
};

/** An unknown size has no price. */
function imageBySize(prices: Readonly<Record<string, string>>, size: string): bigint | undefined {
  const price = prices[size === '' ? SQUARE : size];
  return price === undefined ? undefined : usd(price);
}

/** By the shorter side. */
function secondOf(prices: Readonly<Record<string, string>>, size: string): bigint | undefined {
  const [width = 0, height = 0] = (size === '' ? '720x1280' : size).split('x').map(Number);
  const price = prices[String(Math.min(width, height))];
  return price === undefined ? undefined : usd(price);
}

const SECONDS_PER_HOUR = 3_600n;

/** Published prices of a model at the provider that sells it. */
export function publishedMedia(seller: string, model: string, atMs: number): MediaPrices | undefined {
  const listed = seller === 'openai' || seller === 'azure' ? PUBLISHED[model] : undefined;
  if (listed) return listed;
  const perHour = findInLibrary(seller, model, atMs)?.prices.input_audio_hours;
  const hour = typeof perHour === 'number' ? scaleDecimal(String(perHour), 12) : undefined;
  if (hour === undefined) return undefined;
  const second = (hour + SECONDS_PER_HOUR - 1n) / SECONDS_PER_HOUR;
  return { second: () => second };
}
