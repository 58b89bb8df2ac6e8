import type { LoggedCall } from '../agents/logs/logged-call.ts';
import type { NanoUsd } from '../money.ts';
import { type KnownPrice, knownPrices } from '../operations/known-prices.ts';
import type { PriceView } from '../operations/schemas/prices.ts';
import { createCatalog } from '../pricing/catalog.ts';
import { costOf } from '../pricing/cost.ts';
import type { PriceOverride } from '../pricing/override.ts';
import { type PriceCard, scaleCard } from '../pricing/price-card.ts';
import { readStoredPrices } from '../pricing/published/stored-prices.ts';
import { factorOf } from '../pricing/service-factors.ts';
import { toolFee } from '../pricing/tool-fees.ts';

/** The probable provider of a logged call, and its cost. */
interface PricedCall {
  /** The model's provider; '' if unknown. */
  provider: string;
  /** Undefined if the price is unknown. */
  nanoUsd: NanoUsd | undefined;
}

type Priced = Pick<LoggedCall, 'model' | 'usage' | 'at' | 'parts' | 'terms' | 'searches'>;

export type ListPrice = (call: Priced) => PricedCall;

/**
 * Prices calls at the user's prices, else at the day's list prices: tokens by the models and service options in the
 * answer, plus searches. Logs don't name the provider behind an address, so the model's name determines it.
 */
export function createListPrice(prices: readonly PriceView[], pricesFile: string): ListPrice {
  const catalog = createCatalog({
    overrides: prices.map(overrideOf),
    published: readStoredPrices(pricesFile).stored?.prices,
  });
  const found = new Map<string, KnownPrice | undefined>();
  const sellerOf = (model: string): KnownPrice | undefined => {
    if (!found.has(model)) found.set(model, knownPrices(model, { catalog, configured: [] })[0]);
    return found.get(model);
  };
  const cardOf = (model: string, { at, terms = {} }: Priced): PriceCard | undefined => {
    const seller = sellerOf(model);
    const card = seller && catalog.find(seller.provider, seller.model, at);
    const factor = factorOf(terms, model);
    return card && factor !== 1 ? scaleCard(card, factor) : card;
  };
  return (call) => {
    const { model, usage, parts = [{ model: undefined, usage }], searches = 0 } = call;
    const provider = sellerOf(model)?.provider ?? '';
    let nanoUsd = searches * (toolFee(provider, 'web_search', {})?.nanoUsd ?? 0);
    for (const part of parts) {
      const card = (part.model && cardOf(part.model, call)) || cardOf(model, call);
      if (!card) return { provider, nanoUsd: undefined };
      nanoUsd += costOf(part.usage, card);
    }
    return { provider, nanoUsd };
  };
}

const PICO_PER_USD_PER_MILLION = 1_000_000;

function overrideOf(price: PriceView): PriceOverride {
  const pico = (usd: number | null) => (usd === null ? null : Math.round(usd * PICO_PER_USD_PER_MILLION));
  return {
    provider: price.provider,
    model: price.model,
    inputPicoUsd: pico(price.input_usd_per_million) ?? 0,
    outputPicoUsd: pico(price.output_usd_per_million) ?? 0,
    cachedInputPicoUsd: pico(price.cached_input_usd_per_million),
    cacheWritePicoUsd: pico(price.cache_write_usd_per_million),
    cacheWrite1hPicoUsd: pico(price.cache_write_1h_usd_per_million),
    requestPicoUsd: price.usd_per_request === null ? null : Math.round(price.usd_per_request * 1e12),
  };
}
