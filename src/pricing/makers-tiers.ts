import { findInLibrary } from './library.ts';
import { pricesFromLibrary } from './library-prices.ts';
import type { Prices } from './price-card.ts';
import { type Rate, scaleRate } from './rate.ts';

/** Makers whose models OpenRouter forwards: the prefix at OpenRouter, and the library's provider name. */
const MAKERS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic'],
  ['google', 'google'],
  ['openai', 'openai'],
  ['x-ai', 'xai'],
]);

/**
 * Adds the maker's tiers to a model's prices at OpenRouter. OpenRouter passes the maker's higher prices for long inputs
 * on, but for some models the library lists them at the maker only.
 */
export function withMakersTiers(prices: Prices, modelId: string, atMs: number): Prices {
  const [prefix = '', name = ''] = modelId.split('/');
  const maker = MAKERS.get(prefix);
  const found = maker === undefined || name.includes(':') ? undefined : findInLibrary(maker, name, atMs);
  const makers = found && pricesFromLibrary(found.modelId, found.prices);
  if (!makers) return prices;
  return {
    ...prices,
    input: tiered(prices.input, makers.input),
    cachedInput: tiered(prices.cachedInput, makers.input),
    cacheWrite: tiered(prices.cacheWrite, makers.input),
    cacheWrite1h: tiered(prices.cacheWrite1h, makers.input),
    audioInput: tiered(prices.audioInput, makers.audioInput),
    output: tiered(prices.output, makers.output),
    audioOutput: tiered(prices.audioOutput, makers.output),
  };
}

/** The rate with the maker's tiers, scaled to its base price. A rate with tiers of its own is kept. */
function tiered(rate: Rate, makers: Rate): Rate {
  if (rate.tiers.length > 0 || makers.tiers.length === 0 || makers.picoUsd === 0n) return rate;
  return {
    picoUsd: rate.picoUsd,
    tiers: makers.tiers.map(({ overTokens, picoUsd }) => ({
      overTokens,
      picoUsd: scaleRate(rate, picoUsd, makers.picoUsd).picoUsd,
    })),
  };
}
