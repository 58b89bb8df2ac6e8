import { nanoFromPico } from '../../pricing/pico.ts';
import { rateAt } from '../../pricing/rate.ts';
import { catalogOf, type KnownPrice, knownPrices } from '../../reading/known-prices.ts';
import { listPrices } from '../../store/accounts/prices.ts';
import type { Context } from '../context.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** The value of saved input tokens, and the price it is based on. */
export interface Worth {
  price: KnownPrice;
  /** Assumes that no input is read from a cache. */
  savedNanoUsd: number;
}

/** Value of the saved input tokens at the price of a model or alias; undefined if no price is known. */
export async function worthOf(
  context: Context,
  name: string,
  tokens: { tokensBefore: number; tokensAfter: number },
): Promise<Worth | undefined> {
  const { settings } = readSettings(context);
  const overrides = await withStore(context, listPrices);
  const [price] = knownPrices(settings.aliases[name] ?? name, {
    catalog: catalogOf(overrides, context.paths.prices, context.clock.now),
    configured: Object.keys(settings.providers),
  });
  if (!price) return undefined;
  const cost = (count: number) => BigInt(count) * rateAt(price.card.input, count);
  return { price, savedNanoUsd: nanoFromPico(cost(tokens.tokensBefore) - cost(tokens.tokensAfter)) };
}
