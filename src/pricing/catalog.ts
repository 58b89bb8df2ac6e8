import { DEPLOYMENT_KINDS, deploymentOf, PROVISIONED_CARD } from './deployments.ts';
import { type BilledAs, findInLibrary, type PublishedPrices, setBilledAs, setPrices } from './library.ts';
import { pricesFromLibrary } from './library-prices.ts';
import { type MediaPrices, publishedMedia } from './media-prices.ts';
import { indexMedia, indexOverrides, type PriceOverride } from './override.ts';
import {
  completePrices,
  createPriceCard,
  freeCard,
  type PriceCard,
  type Prices,
  scaleCard,
} from './price-card.ts';
import { priceDates } from './price-dates.ts';
import { flatRate, type Rate, scaleRate } from './rate.ts';
import { batchFactor } from './service-factors.ts';

export interface Catalog {
  /** A model's prices at a provider and time (UTC milliseconds, default now). Undefined means unknown, not free. */
  find(providerName: string, model: string, atMs?: number): PriceCard | undefined;
  /** Price of a batch at a provider, as a factor of what `find` returns. */
  batchFactor(providerName: string): number;
  /** A model's prices of pictures, sound and film; undefined if none is known. */
  media(providerName: string, model: string, atMs?: number): MediaPrices | undefined;
}

export interface CatalogOptions {
  /** The user's prices. To change them, create a new catalog, which is cheap. */
  overrides?: readonly PriceOverride[];
  /** Price data that replaces the packaged one. */
  published?: PublishedPrices | undefined;
  /** Providers that are billed at another's prices, beside the user's own for them. */
  billedAs?: BilledAs;
  now?: () => number;
}

/** The cached result for a name, misses included, and its period of validity. */
interface Entry {
  card: PriceCard | undefined;
  fromMs: number;
  untilMs: number;
}

/** Names come from clients. Real names are shorter, and invented ones must not fill the memory. */
const MAX_NAME_LENGTH = 256;
const MAX_ENTRIES = 10_000;

const NOBODY: BilledAs = new Map();

export function createCatalog({
  overrides = [],
  published,
  billedAs = NOBODY,
  now = Date.now,
}: CatalogOptions = {}): Catalog {
  const findOverride = indexOverrides(overrides);
  const findMedia = indexMedia(overrides);
  if (published) setPrices(published);
  setBilledAs(billedAs);
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
      const billing = billedAs.get(providerName);
      const seller = billing?.seller ?? providerName;
      const { model: sold, kind } = deploymentOf(billing, model) ?? { model, kind: 'global' };
      const fixed =
        findOverride(providerName, model) ??
        (kind === 'provisioned' ? PROVISIONED_CARD : undefined) ??
        findOverride(seller, sold) ??
        builtInCard(seller, sold);
      if (!fixed) setPrices(published);
      const entry = fixed ? always(fixed) : libraryEntry(providerName, model, atMs, DEPLOYMENT_KINDS[kind]);
      remember(providerName, model, entry);
      return entry.card;
    },
    batchFactor: (providerName) => batchFactor(billedAs.get(providerName)?.seller ?? providerName),
    media(providerName, model, atMs = now()) {
      if (model.length > MAX_NAME_LENGTH) return undefined;
      const seller = billedAs.get(providerName)?.seller ?? providerName;
      return (
        findMedia(providerName, model) ?? findMedia(seller, model) ?? publishedMedia(seller, model, atMs)
      );
    },
  };
}

const always = (card: PriceCard | undefined): Entry => ({ card, fromMs: -Infinity, untilMs: Infinity });

function libraryEntry(providerName: string, model: string, atMs: number, factor: number): Entry {
  const match = findInLibrary(providerName, model, atMs);
  if (!match) return always(undefined);
  const source = `genai-prices ${match.providerId}/${match.modelId}`;
  const pricesAt = (timeMs: number) => {
    const listPrices = findInLibrary(providerName, model, timeMs)?.prices;
    const prices = listPrices && pricesFromLibrary(match.modelId, listPrices);
    return prices && match.providerId === 'openrouter'
      ? withMakersTiers(prices, match.modelId, timeMs)
      : prices;
  };
  const prices = pricesAt(atMs);
  const { untilMs, upcomingMs } = priceDates(match.datedPrices, atMs);
  const upcoming = upcomingMs.map(pricesAt).filter((each) => each !== undefined);
  const listed = prices && createPriceCard(source, prices, upcoming);
  const card = listed && factor !== 1 ? scaleCard(listed, factor) : listed;
  return match.datedPrices.length === 0 ? always(card) : { card, fromMs: atMs, untilMs };
}

/** Runtimes on the user's machine, which cost nothing. */
const LOCAL_RUNTIMES: ReadonlySet<string> = new Set(['ollama', 'lmstudio', 'vllm', 'llamacpp']);
const LOCAL_CARD = freeCard('local runtime, free');

/** The sandbox's models have realistic prices, so that users can test budgets. */
const SANDBOX_CARDS: ReadonlyMap<string, PriceCard> = new Map([
  ['sandbox/echo', sandboxCard('sandbox/echo', { input: 150_000n, cached: 75_000n, output: 600_000n })],
  [
    'sandbox/large',
    sandboxCard('sandbox/large', { input: 2_500_000n, cached: 1_250_000n, output: 10_000_000n }),
  ],
  ['sandbox/free', freeCard('sandbox/free')],
]);

/** The price of a built-in provider's model: the sandbox and the local runtimes. */
function builtInCard(providerName: string, model: string): PriceCard | undefined {
  if (LOCAL_RUNTIMES.has(providerName)) return LOCAL_CARD;
  if (providerName !== 'sandbox' || !model.startsWith('sandbox/')) return undefined;
  // Fault models, and names that the sandbox rejects, must not fail for lack of a price.
  return SANDBOX_CARDS.get(model) ?? SANDBOX_CARDS.get('sandbox/echo');
}

function sandboxCard(source: string, pico: { input: bigint; cached: bigint; output: bigint }): PriceCard {
  const listPrices = {
    input: flatRate(pico.input),
    cachedInput: flatRate(pico.cached),
    output: flatRate(pico.output),
  };
  return createPriceCard(source, completePrices(listPrices, source));
}

/** Makers whose models OpenRouter forwards: prefix at OpenRouter, and provider name in the library. */
const MAKERS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic'],
  ['google', 'google'],
  ['openai', 'openai'],
  ['x-ai', 'xai'],
]);

/**
 * Adds the maker's price tiers to a model's prices at OpenRouter. OpenRouter charges the maker's higher prices for long
 * inputs, but for some models the library lists them only at the maker.
 */
function withMakersTiers(prices: Prices, modelId: string, atMs: number): Prices {
  const [prefix = '', name = ''] = modelId.split('/');
  const maker = MAKERS.get(prefix);
  const match = maker === undefined || name.includes(':') ? undefined : findInLibrary(maker, name, atMs);
  const makers = match && pricesFromLibrary(match.modelId, match.prices);
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

/** The rate with the maker's tiers, scaled to its base price. A rate with its own tiers is unchanged. */
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
