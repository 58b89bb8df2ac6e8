import { usdNumber } from '../money.ts';
import type { Rate } from '../pricing/rate.ts';
import { routerFee } from '../pricing/router-fees.ts';
import { servicePrices } from '../pricing/service-factors.ts';
import type { StoredPrice } from '../store/accounts/prices.ts';
import type { KnownPrice } from './known-prices.ts';
import type { Input } from './operation.ts';
import type { PriceInForceView, PriceView, setPrice } from './schemas/prices.ts';

const MILLION = 1_000_000;
const PICO_PER_NANO = 1_000;

/** A price that the user set, as `gw prices list --json` prints it. */
export function viewPrice(price: StoredPrice): PriceView {
  return {
    provider: price.provider === '' ? null : price.provider,
    model: price.model,
    input_usd_per_million: usdPerMillion(price.inputPicoUsd),
    output_usd_per_million: usdPerMillion(price.outputPicoUsd),
    cached_input_usd_per_million: usdPerMillion(price.cachedInputPicoUsd),
    cache_write_usd_per_million: usdPerMillion(price.cacheWritePicoUsd),
    cache_write_1h_usd_per_million: usdPerMillion(price.cacheWrite1hPicoUsd),
    usd_per_request: feeUsd(price.requestPicoUsd),
    usd_per_image: feeUsd(price.imagePicoUsd),
    usd_per_second: feeUsd(price.secondPicoUsd),
    usd_per_million_characters: usdPerMillion(price.characterPicoUsd),
  };
}

/** The same without what it does not state, which an older gw refuses if it doesn't know it. */
export function statedPrice(price: StoredPrice) {
  const stated = Object.entries(viewPrice(price)).filter(([, value]) => value !== null);
  return Object.fromEntries(stated) as Input<typeof setPrice>;
}

/** A price in force, as `gw prices list MODEL --json` prints it. */
export function viewPriceInForce({ provider, model, card }: KnownPrice): PriceInForceView {
  const over = ({ tiers }: Rate, tokens: number) => {
    const tier = tiers.find(({ overTokens }) => overTokens === tokens);
    return tier ? usdPerMillion(Number(tier.picoUsd)) : null;
  };
  const fee = routerFee(provider, model);
  return {
    provider,
    model,
    input_usd_per_million: usdPerMillion(Number(card.input.picoUsd)),
    output_usd_per_million: usdPerMillion(Number(card.output.picoUsd)),
    cached_input_usd_per_million: usdPerMillion(Number(card.cachedInput.picoUsd)),
    cache_write_usd_per_million: usdPerMillion(Number(card.cacheWrite.picoUsd)),
    cache_write_1h_usd_per_million: usdPerMillion(Number(card.cacheWrite1h.picoUsd)),
    usd_per_request: feeUsd(Number(card.perRequestPicoUsd)),
    tiers: card.input.tiers.map(({ overTokens }) => ({
      over_tokens: overTokens,
      input_usd_per_million: over(card.input, overTokens),
      output_usd_per_million: over(card.output, overTokens),
      cached_input_usd_per_million: over(card.cachedInput, overTokens),
      cache_write_usd_per_million: over(card.cacheWrite, overTokens),
    })),
    service_prices: servicePrices(model),
    router_fee_usd_per_million: usdPerMillion(fee && Number(fee.picoUsd)),
    source: card.source,
  };
}

/** Converts pico-USD per token to dollars per million tokens. */
export function usdPerMillion(pico: number | undefined): number | null {
  return pico === undefined ? null : pico / MILLION;
}

/** Converts a fee in pico-USD to dollars. */
function feeUsd(pico: number | undefined): number | null {
  return pico === undefined ? null : usdNumber(Math.ceil(pico / PICO_PER_NANO));
}
