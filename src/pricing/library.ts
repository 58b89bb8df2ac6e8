/** The bundled price data: which model of which provider a name means. Nothing is ever fetched. */
import { createRequire } from 'node:module';
import type { ConditionalPrice, ModelPrice } from '@pydantic/genai-prices';

/**
 * Our provider names and the library's. Whatever is not listed is a provider of the user's own, and its
 * prices are unknown: a proxy may charge anything, whatever its models are called.
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

/** What Google's two OpenAI-compatible endpoints put before a model's name, and the library doesn't know. */
const GOOGLE_PREFIX = /^(?:models|google)\//;

/** Loaded when it is first needed, and at once, which an import can't be: it holds 20 MB, and own prices need none of it. */
const library = (): typeof import('@pydantic/genai-prices') =>
  createRequire(import.meta.url)('@pydantic/genai-prices');

export interface LibraryModel {
  /** The library's ids, not ours; the model may be another maker's, as OpenAI's are at Azure. */
  providerId: string;
  modelId: string;
  contextTokens: number | undefined;
  /** In force at the time asked for. */
  prices: ModelPrice;
  /** All prices, where they depend on the date or the time of day. */
  datedPrices: readonly ConditionalPrice[];
}

/** The model that the library matches to the name, with its prices at that time. */
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
