import { usdNumber } from '../money.ts';
import type { Rate } from '../pricing/rate.ts';
import { routerFee } from '../pricing/router-fees.ts';
import { servicePrices } from '../pricing/service-factors.ts';
import type { StoredPrice } from '../store/accounts/prices.ts';
import type { PriceInForce } from './known-prices.ts';
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
export function viewPriceInForce({ provider, model, card, media }: PriceInForce): PriceInForceView {
  const rate = (of: Rate | undefined) => usdPerMillion(of && Number(of.picoUsd));
  const over = (of: Rate | undefined, tokens: number) => {
    const tier = of?.tiers.find(({ overTokens }) => overTokens === tokens);
    return tier ? usdPerMillion(Number(tier.picoUsd)) : null;
  };
  const fee = routerFee(provider, model);
  return {
    provider,
    model,
    input_usd_per_million: rate(card?.input),
    output_usd_per_million: rate(card?.output),
    cached_input_usd_per_million: rate(card?.cachedInput),
    cache_write_usd_per_million: rate(card?.cacheWrite),
    cache_write_1h_usd_per_million: rate(card?.cacheWrite1h),
    usd_per_request: card ? feeUsd(Number(card.perRequestPicoUsd)) : null,
    // Of the size and quality that a request has without stating them.
    usd_per_image: unitUsd(media?.image?.('', '')),
    usd_per_second: unitUsd(media?.second?.('')),
    usd_per_million_characters:
      media?.character === undefined ? null : usdPerMillion(Number(media.character)),
    tiers: (card?.input.tiers ?? []).map(({ overTokens }) => ({
      over_tokens: overTokens,
      input_usd_per_million: over(card?.input, overTokens),
      output_usd_per_million: over(card?.output, overTokens),
      cached_input_usd_per_million: over(card?.cachedInput, overTokens),
      cache_write_usd_per_million: over(card?.cacheWrite, overTokens),
    })),
    service_prices: card ? servicePrices(model) : [],
    router_fee_usd_per_million: usdPerMillion(fee && Number(fee.picoUsd)),
    source: card?.source ?? 'prices of pictures, sound and film',
  };
}

/** Converts pico-USD per token to dollars per million tokens. */
export function usdPerMillion(pico: number | undefined): number | null {
  return pico === undefined ? null : pico / MILLION;
}

const unitUsd = (pico: bigint | undefined): number | null => feeUsd(pico === undefined ? pico : Number(pico));

/** Converts a fee in pico-USD to dollars. */
function feeUsd(pico: number | undefined): number | null {
  return pico === undefined ? null : usdNumber(Math.ceil(pico / PICO_PER_NANO));
}
