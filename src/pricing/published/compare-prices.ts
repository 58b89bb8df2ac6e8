import type { Catalog } from '../catalog.ts';
import { LIBRARY_PROVIDERS, libraryModelNames, type PublishedPrices, setPrices } from '../library.ts';
import { type PriceCard, type Prices, TOKEN_KINDS } from '../price-card.ts';
import { type Rate, rateAt } from '../rate.ts';

/** A model whose price differs between two catalogs. An undefined card means no price. */
export interface PriceChange {
  provider: string;
  model: string;
  before: PriceCard | undefined;
  after: PriceCard | undefined;
  /** `lower` if any price is lower, even if others are higher: holds may become too small. */
  kind: 'new' | 'gone' | 'lower' | 'higher' | 'same';
}

/** Model names with their providers. */
export type ModelNames = readonly (readonly [provider: string, model: string])[];

/** The names in price data; undefined selects the packaged data. */
export function namesIn(prices: PublishedPrices | undefined): ModelNames {
  setPrices(prices);
  return [...LIBRARY_PROVIDERS.keys()].flatMap((provider) =>
    libraryModelNames(provider).map((model) => [provider, model] as const),
  );
}

/** The models whose prices at `atMs` differ. */
export function comparePrices(
  names: ModelNames,
  { before, after, atMs }: { before: Catalog; after: Catalog; atMs: number },
): PriceChange[] {
  const unique = [...new Map(names.map((each) => [each.join('/'), each])).values()];
  // One catalog after the other, because the library holds one data set at a time.
  const cardsBefore = unique.map(([provider, model]) => before.find(provider, model, atMs));
  return unique.flatMap(([provider, model], i) => {
    const cards = { before: cardsBefore[i], after: after.find(provider, model, atMs) };
    const kind = kindOf(cards.before, cards.after);
    return kind === 'same' ? [] : [{ provider, model, ...cards, kind }];
  });
}

function kindOf(before: PriceCard | undefined, after: PriceCard | undefined): PriceChange['kind'] {
  if (!before || !after) return before ? 'gone' : after ? 'new' : 'same';
  const pairs = ratesOf(before).flatMap((rate, i) => steps(rate, ratesOf(after)[i] ?? rate));
  pairs.push([before.perRequestPicoUsd, after.perRequestPicoUsd]);
  if (pairs.some(([old, fresh]) => fresh < old)) return 'lower';
  return pairs.some(([old, fresh]) => fresh > old) ? 'higher' : 'same';
}

const ratesOf = (prices: Prices): Rate[] => TOKEN_KINDS.map((kind) => prices[kind]);

/** Pairs of both rates, below the first tier and in every tier of either. */
function steps(a: Rate, b: Rate): [bigint, bigint][] {
  const lengths = [0, ...[...a.tiers, ...b.tiers].map(({ overTokens }) => overTokens + 1)];
  return lengths.map((tokens) => [rateAt(a, tokens), rateAt(b, tokens)]);
}

export function compareKnowledge(known: PublishedPrices, fresh: PublishedPrices) {
  const [before, after] = [lastChanges(known), lastChanges(fresh)];
  const lost = [...before.keys()].filter((name) => !after.has(name));
  let balance = -lost.length;
  for (const [name, date] of after) {
    const old = before.get(name);
    if (old === undefined) balance++;
    else if (old !== date) balance += old < date ? 1 : -1;
  }
  return { lost, isOlder: balance < 0 };
}

/** The last date at which each model's price changes; empty without dates. */
function lastChanges(prices: PublishedPrices): Map<string, string> {
  const lastDates = new Map<string, string>();
  for (const provider of prices) {
    for (const { id, prices: all } of provider.models) {
      const dates = (Array.isArray(all) ? all : []).map(({ constraint }) =>
        constraint?.type === 'start_date' ? constraint.start_date : '',
      );
      lastDates.set(`${provider.id}/${id}`, dates.sort().at(-1) ?? '');
    }
  }
  return lastDates;
}
