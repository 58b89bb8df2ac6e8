import { completePrices, createPriceCard, type PriceCard } from './price-card.ts';
import { flatRate, type Rate } from './rate.ts';

/** A price that the user set, in integer pico-USD per token. Replaces all of the library's prices for the model. */
export interface PriceOverride {
  /** Null or empty: all providers without an override of their own for this model. */
  provider: string | null;
  model: string;
  inputPicoUsd: number;
  outputPicoUsd: number;
  cachedInputPicoUsd?: number | null | undefined;
  cacheWritePicoUsd?: number | null | undefined;
  cacheWrite1hPicoUsd?: number | null | undefined;
  audioInputPicoUsd?: number | null | undefined;
  audioOutputPicoUsd?: number | null | undefined;
  /** Per request. */
  requestPicoUsd?: number | null | undefined;
}

/** Finds a model's override. One for its provider takes precedence over one for any provider. Ignores case. */
export type FindOverride = (providerName: string, model: string) => PriceCard | undefined;

export function indexOverrides(overrides: readonly PriceOverride[]): FindOverride {
  const cards = new Map(overrides.map((each) => [key(each.provider, each.model), cardOf(each)]));
  return (providerName, model) => cards.get(key(providerName, model)) ?? cards.get(key(null, model));
}

function key(provider: string | null, model: string): string {
  return `${provider ?? ''}\n${model}`.toLowerCase();
}

function cardOf(override: PriceOverride): PriceCard {
  const { provider, model } = override;
  const prices = {
    input: flatRate(BigInt(override.inputPicoUsd)),
    output: flatRate(BigInt(override.outputPicoUsd)),
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
