/** Looks models up in price data: the packaged one, or a newer one that `gw prices update` has stored. */
import { createRequire } from 'node:module';
import type { ConditionalPrice, ModelPrice, Provider } from '@pydantic/genai-prices';

/**
 * The packaged price data. The release date isn't in the package, so package.json pins the version that it is of, and a
 * test compares all three.
 */
export const PACKAGED_PRICES = { version: '0.1.8', releasedAt: Date.parse('2026-09-23T00:00:00Z') } as const;

/** Price data that replaces the packaged one: the library's providers, with what a lookup reads. */
export type PublishedPrices = readonly Provider[];

/**
 * gw's provider names and the library's. Other providers are the user's own and have unknown prices: a proxy may charge
 * anything, whatever its models are called.
 */
const LIBRARY_PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic'],
  ['azure', 'azure'],
  ['cerebras', 'cerebras'],
  ['deepseek', 'deepseek'],
  ['fireworks', 'fireworks'],
  ['google', 'google'],
  ['groq', 'groq'],
  ['mistral', 'mistral'],
  ['moonshot', 'moonshotai'],
  ['openai', 'openai'],
  ['openrouter', 'openrouter'],
  ['perplexity', 'perplexity'],
  ['together', 'together'],
  ['xai', 'x-ai'],
]);

/** Prefixes of model names at Google's two OpenAI-compatible endpoints, which the library doesn't know. */
const GOOGLE_PREFIX = /^(?:models|google)\//;

/** Loaded on first use, as it takes 20 MB that a user with own prices never needs; and synchronously, unlike import(). */
const library = (): typeof import('@pydantic/genai-prices') =>
  createRequire(import.meta.url)('@pydantic/genai-prices');

let packaged: Provider[] | undefined;
/** Undefined: the packaged data. */
let inUse: PublishedPrices | undefined;

/** Makes lookups read these prices, or the packaged ones. The library has one set of data in a process. */
export function setPrices(prices: PublishedPrices | undefined): void {
  if (prices === inUse) return;
  const data = prices ?? packagedPrices();
  library().updatePrices(({ setProviderData }) => setProviderData([...data]));
  inUse = prices;
}

/** The prices that lookups read now; undefined: the packaged ones. */
export function pricesInUse(): PublishedPrices | undefined {
  return inUse;
}

/** The packaged data of the providers that gw looks up, and of the makers of their models. */
export function packagedPrices(): PublishedPrices {
  // The first to ask comes before the data is replaced.
  packaged ??= findProviders();
  return packaged;
}

function findProviders(): Provider[] {
  const ids = new Set(LIBRARY_PROVIDERS.values());
  const found: Provider[] = [];
  for (const providerId of ids) {
    const provider = library().findProvider({ providerId });
    if (!provider) continue;
    found.push(provider);
    // Iteration goes on with the ids that are added here.
    for (const maker of provider.fallback_model_providers ?? []) ids.add(maker);
  }
  return found;
}

/** gw's names of the providers that the library has prices of, with the library's. */
export function libraryProviders(): ReadonlyMap<string, string> {
  return LIBRARY_PROVIDERS;
}

export interface LibraryModel {
  /** The library's ids, not gw's. The model may be another provider's, as OpenAI's are at Azure. */
  providerId: string;
  modelId: string;
  contextTokens: number | undefined;
  /** The prices at the requested time. */
  prices: ModelPrice;
  /** All prices, if they depend on the date or the time of day; otherwise empty. */
  datedPrices: readonly ConditionalPrice[];
}

/** The names of a provider's models with a price, and those of its makers; empty for a provider of the user's own. */
export function libraryModelNames(providerName: string): string[] {
  const providerId = LIBRARY_PROVIDERS.get(providerName);
  const { findProvider } = library();
  const provider = providerId === undefined ? undefined : findProvider({ providerId });
  const makers = (provider?.fallback_model_providers ?? []).map((id) => findProvider({ providerId: id }));
  return [provider, ...makers].flatMap((each) => (each?.models ?? []).map(({ id }) => id));
}

/** The model that the library matches to the name, with its prices at `atMs`. */
export function findInLibrary(providerName: string, model: string, atMs: number): LibraryModel | undefined {
  const providerId = LIBRARY_PROVIDERS.get(providerName);
  if (providerId === undefined) return undefined;
  const name = providerId === 'google' ? model.replace(GOOGLE_PREFIX, '') : model;
  const found = library().calcPrice({}, name, { providerId, timestamp: new Date(atMs) });
  if (!found) return undefined;
  return {
    providerId: found.provider.id,
    modelId: found.model.id,
    contextTokens: found.model.context_window,
    prices: found.model_price,
    datedPrices: Array.isArray(found.model.prices) ? found.model.prices : [],
  };
}
