import type { LoggedCall } from '../agents/logs/logged-call.ts';
import type { NanoUsd } from '../money.ts';
import { createCatalog } from '../pricing/catalog.ts';
import { costOf } from '../pricing/cost.ts';
import type { PriceOverride } from '../pricing/override.ts';
import { readStoredPrices } from '../pricing/published/stored-prices.ts';
import { type KnownPrice, knownPrices } from '../reading/known-prices.ts';
import type { PriceView } from '../reading/schemas.ts';

/** Where a logged call was probably answered, and what it costs. */
export interface PricedCall {
  /** The model's provider; '' where it isn't known. */
  provider: string;
  /** Undefined: the price is unknown. */
  nanoUsd: NanoUsd | undefined;
}

export type ListPrice = (call: Pick<LoggedCall, 'model' | 'usage' | 'at'>) => PricedCall;

/**
 * Prices the tokens of calls at the user's prices, else at the list price of the day. Logs don't say which provider an
 * address belongs to: it is the one that the model's name points to.
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
  return ({ model, usage, at }) => {
    const seller = sellerOf(model);
    const card = seller && catalog.find(seller.provider, seller.model, at);
    return { provider: seller?.provider ?? '', nanoUsd: card && costOf(usage, card) };
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
    requestPicoUsd: price.usd_per_request === null ? null : Math.round(price.usd_per_request * 1e12),
  };
}
