import { nanoFromPico } from '../../pricing/pico.ts';
import { rateAt } from '../../pricing/rate.ts';
import { listPrices } from '../../store/accounts/prices.ts';
import type { Context } from '../context.ts';
import { type KnownPrice, knownPrices } from '../prices/known.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** What saved input tokens are worth, and at whose price. */
export interface Worth {
  price: KnownPrice;
  /** Of the input, none of it from a cache. */
  savedNanoUsd: number;
}

/** What the shorter input saves at the price of a model, or of an alias; undefined where nobody knows that price. */
export async function worthOf(
  context: Context,
  name: string,
  tokens: { tokensBefore: number; tokensAfter: number },
): Promise<Worth | undefined> {
  const { settings } = readSettings(context);
  const overrides = await withStore(context, listPrices);
  const [price] = knownPrices(context, settings.aliases[name] ?? name, overrides);
  if (!price) return undefined;
  const cost = (count: number) => BigInt(count) * rateAt(price.card.input, count);
  return { price, savedNanoUsd: nanoFromPico(cost(tokens.tokensBefore) - cost(tokens.tokensAfter)) };
}
