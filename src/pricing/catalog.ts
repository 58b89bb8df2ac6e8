import { builtInCard } from './built-in.ts';
import { findInLibrary, type PublishedPrices, setPrices } from './library.ts';
import { pricesFromLibrary } from './library-prices.ts';
import { withMakersTiers } from './makers-tiers.ts';
import { indexOverrides, type PriceOverride } from './override.ts';
import { createPriceCard, type PriceCard } from './price-card.ts';
import { priceDates } from './price-dates.ts';

export interface Catalog {
  /** A model's prices at a provider and time (UTC milliseconds, default now). Undefined: unknown, which isn't free. */
  find(providerName: string, model: string, atMs?: number): PriceCard | undefined;
}

export interface CatalogOptions {
  /** The user's prices. To change them, create a new catalog, which is cheap. */
  overrides?: readonly PriceOverride[];
  /** Prices that replace the packaged ones. */
  published?: PublishedPrices | undefined;
  now?: () => number;
}

/** The cached result for a name, misses included, and its time of validity. */
interface Entry {
  card: PriceCard | undefined;
  fromMs: number;
  untilMs: number;
}

/** Names come from clients. Real ones are shorter, and made-up ones must not fill the memory. */
const MAX_NAME_LENGTH = 256;
const MAX_ENTRIES = 10_000;

export function createCatalog({ overrides = [], published, now = Date.now }: CatalogOptions = {}): Catalog {
  const findOverride = indexOverrides(overrides);
  if (published) setPrices(published);
  const providers = new Map<string, Map<string, Entry>>();
  let entries = 0;

  function remember(providerName: string, model: string, entry: Entry): void {
    if (entries >= MAX_ENTRIES) {
      providers.clear();
      entries = 0;
    }
    const models = providers.get(providerName) ?? new Map<string, Entry>();
    providers.set(providerName, models);
    if (!models.has(model)) entries += 1;
    models.set(model, entry);
  }

  return {
    find(providerName, model, atMs = now()) {
      const cached = providers.get(providerName)?.get(model);
      if (cached && atMs >= cached.fromMs && atMs < cached.untilMs) return cached.card;
      if (model.length > MAX_NAME_LENGTH) return undefined;
      const fixed = findOverride(providerName, model) ?? builtInCard(providerName, model);
      if (!fixed) setPrices(published);
      const entry = fixed ? always(fixed) : libraryEntry(providerName, model, atMs);
      remember(providerName, model, entry);
      return entry.card;
    },
  };
}

function always(card: PriceCard | undefined): Entry {
  return { card, fromMs: -Infinity, untilMs: Infinity };
}

function libraryEntry(providerName: string, model: string, atMs: number): Entry {
  const found = findInLibrary(providerName, model, atMs);
  if (!found) return always(undefined);
  const source = `genai-prices ${found.providerId}/${found.modelId}`;
  const pricesAt = (timeMs: number) => {
    const stated = findInLibrary(providerName, model, timeMs)?.prices;
    const prices = stated && pricesFromLibrary(found.modelId, stated);
    return prices && found.providerId === 'openrouter'
      ? withMakersTiers(prices, found.modelId, timeMs)
      : prices;
  };
  const prices = pricesAt(atMs);
  const { untilMs, upcomingMs } = priceDates(found.datedPrices, atMs);
  const upcoming = upcomingMs.map(pricesAt).filter((each) => each !== undefined);
  const card = prices && createPriceCard(source, prices, upcoming);
  return found.datedPrices.length === 0 ? always(card) : { card, fromMs: atMs, untilMs };
}
