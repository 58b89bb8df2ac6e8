/** Looks up models in price data: the packaged data, or newer data that `gw prices update` stored. */
import { createRequire } from 'node:module';
import type { ConditionalPrice, ModelPrice, Provider } from '@pydantic/genai-prices';
import { type Billing, deploymentOf } from './deployments.ts';

/**
 * Version of the packaged price data. The package doesn't contain its release date, so package.json pins the version,
 * and a test compares all three.
 */
export const PACKAGED_PRICES = { version: '0.1.8', releasedAt: Date.parse('2026-09-23T00:00:00Z') } as const;

/** Price data that replaces the packaged one: the library's providers, reduced to the fields that a lookup reads. */
export type PublishedPrices = readonly Provider[];

/**
 * Provider names in gw and in the library. All other providers are user-defined and have unknown prices: a proxy may
 * charge anything, whatever its models are called.
 */
export const LIBRARY_PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['anthropic', 'anthropic'],
  ['azure', 'azure'],
  ['bedrock', 'aws'],
  ['cerebras', 'cerebras'],
  ['deepseek', 'deepseek'],
  ['fireworks', 'fireworks'],
  ['gemini', 'google'],
  ['google', 'google'],
  ['groq', 'groq'],
  ['mistral', 'mistral'],
  ['moonshot', 'moonshotai'],
  ['openai', 'openai'],
  ['openrouter', 'openrouter'],
  ['perplexity', 'perplexity'],
  ['together', 'together'],
  ['vertex', 'google'],
  ['xai', 'x-ai'],
]);

/** How providers are billed that the library doesn't know by their names. */
export type BilledAs = ReadonlyMap<string, Billing>;

let billedAs: BilledAs = new Map();

/** Sets whose prices and limits apply to providers that the library doesn't know. */
export function setBilledAs(names: BilledAs): void {
  billedAs = names;
}

export const billedAsInUse = (): BilledAs => billedAs;

const libraryId = (providerName: string): string | undefined =>
  LIBRARY_PROVIDERS.get(billedAs.get(providerName)?.seller ?? providerName);

/** Prefixes of model names at Google's two OpenAI-compatible endpoints. The library doesn't know them. */
const GOOGLE_PREFIX = /^(?:models|google)\//;

/** Loaded on first use: it takes 20 MB that a user with own prices never needs. Unlike import(), synchronous. */
const library = (): typeof import('@pydantic/genai-prices') =>
  createRequire(import.meta.url)('@pydantic/genai-prices');

let packaged: Provider[] | undefined;
/** Undefined for the packaged data. */
let inUse: PublishedPrices | undefined;

/** Sets the price data for all lookups; undefined: the packaged data. The library has one data set per process. */
export function setPrices(prices: PublishedPrices | undefined): void {
  if (prices === inUse) return;
  const own = packagedPrices();
  const data = prices ?? own;
  library().updatePrices(({ setProviderData }) => setProviderData([...data]));
  inUse = prices;
}

/** The price data in use; undefined for the packaged data. */
export const pricesInUse = (): PublishedPrices | undefined => inUse;

/** The packaged data of the providers that gw looks up, and of their models' makers. */
export function packagedPrices(): PublishedPrices {
  // `setPrices` reads it before it first replaces the data.
  packaged ??= findProviders();
  return packaged;
}

function findProviders(): Provider[] {
  const ids = new Set(LIBRARY_PROVIDERS.values());
  const providers: Provider[] = [];
  for (const providerId of ids) {
    const provider = library().findProvider({ providerId });
    if (!provider) continue;
    providers.push(provider);
    // The loop also visits the ids added here.
    for (const maker of provider.fallback_model_providers ?? []) ids.add(maker);
  }
  return providers;
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

/** Names of the priced models of a provider and of its makers; empty for user-defined providers. */
export function libraryModelNames(providerName: string): string[] {
  const providerId = libraryId(providerName);
  const { findProvider } = library();
  const provider = providerId === undefined ? undefined : findProvider({ providerId });
  const makers = (provider?.fallback_model_providers ?? []).map((id) => findProvider({ providerId: id }));
  return [provider, ...makers].flatMap((each) => (each?.models ?? []).map(({ id }) => id));
}

/** The model behind a deployment's name; other names stand for themselves. */
export const soldModel = (providerName: string, model: string): string =>
  deploymentOf(billedAs.get(providerName), model)?.model ?? model;

/** The library's match for a model name, with its prices at `atMs`. */
export function findInLibrary(providerName: string, model: string, atMs: number): LibraryModel | undefined {
  const providerId = libraryId(providerName);
  if (providerId === undefined) return undefined;
  const sold = soldModel(providerName, model);
  const name = providerId === 'google' ? sold.replace(GOOGLE_PREFIX, '') : sold;
  const match = library().calcPrice({}, name, { providerId, timestamp: new Date(atMs) });
  if (!match) return undefined;
  return {
    providerId: match.provider.id,
    modelId: match.model.id,
    contextTokens: match.model.context_window,
    prices: match.model_price,
    datedPrices: Array.isArray(match.model.prices) ? match.model.prices : [],
  };
}
