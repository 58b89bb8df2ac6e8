import type { MediaPrices } from './media-prices.ts';
import { completePrices, createPriceCard, type PriceCard } from './price-card.ts';
import { flatRate, type Rate } from './rate.ts';

/** A price that the user set, in integer pico-USD per token. Replaces all of the library's prices for the model. */
export interface PriceOverride {
  /** Null or empty: all providers without an override of their own for this model. */
  provider: string | null;
  model: string;
  /** Undefined for both if the model is priced otherwise. */
  inputPicoUsd?: number | undefined;
  outputPicoUsd?: number | undefined;
  cachedInputPicoUsd?: number | null | undefined;
  cacheWritePicoUsd?: number | null | undefined;
  cacheWrite1hPicoUsd?: number | null | undefined;
  audioInputPicoUsd?: number | null | undefined;
  audioOutputPicoUsd?: number | null | undefined;
  /** Per request. */
  requestPicoUsd?: number | null | undefined;
  /** Per picture, per second of sound or film, per character that is spoken. */
  imagePicoUsd?: number | null | undefined;
  secondPicoUsd?: number | null | undefined;
  characterPicoUsd?: number | null | undefined;
}

/** Finds a model's override. One for its provider takes precedence over one for any provider. Ignores case. */
export type FindOverride<Found = PriceCard> = (providerName: string, model: string) => Found | undefined;

/** The prices of tokens. */
export function indexOverrides(overrides: readonly PriceOverride[]): FindOverride {
  return index(overrides, (each) => (each.inputPicoUsd === undefined ? undefined : cardOf(each)));
}

/** The prices of pictures, sound and film. */
export function indexMedia(overrides: readonly PriceOverride[]): FindOverride<MediaPrices> {
  return index(overrides, ownMedia);
}

function index<Found>(
  overrides: readonly PriceOverride[],
  read: (override: PriceOverride) => Found | undefined,
): FindOverride<Found> {
  const found = new Map<string, Found>();
  for (const each of overrides) {
    const value = read(each);
    if (value !== undefined) found.set(key(each.provider, each.model), value);
  }
  return (providerName, model) => found.get(key(providerName, model)) ?? found.get(key(null, model));
}

const key = (provider: string | null, model: string): string => `${provider ?? ''}\n${model}`.toLowerCase();

function cardOf(override: PriceOverride): PriceCard {
  const { provider, model } = override;
  const prices = {
    input: flatRate(BigInt(override.inputPicoUsd ?? 0)),
    output: flatRate(BigInt(override.outputPicoUsd ?? 0)),
    cachedInput: rateOf(override.cachedInputPicoUsd),
    cacheWrite: rateOf(override.cacheWritePicoUsd),
    cacheWrite1h: rateOf(override.cacheWrite1hPicoUsd),
    audioInput: rateOf(override.audioInputPicoUsd),
    audioOutput: rateOf(override.audioOutputPicoUsd),
    perRequestPicoUsd: BigInt(override.requestPicoUsd ?? 0),
  };
  const source = `override ${provider ? `${provider}/${model}` : model}`;
  return createPriceCard(source, completePrices(prices, model));
}

function rateOf(picoUsd: number | null | undefined): Rate | undefined {
  return picoUsd === null || picoUsd === undefined ? undefined : flatRate(BigInt(picoUsd));
}

/** The owner's prices, of any size and quality; undefined if there are none. */
function ownMedia(price: PriceOverride): MediaPrices | undefined {
  const { imagePicoUsd: image, secondPicoUsd: second, characterPicoUsd: character } = price;
  if (image == null && second == null && character == null) return undefined;
  return {
    ...(image != null && { image: () => BigInt(image) }),
    ...(second != null && { second: () => BigInt(second) }),
    ...(character != null && { character: BigInt(character) }),
  };
}
