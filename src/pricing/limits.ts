import { makersModel } from './deployments.ts';
import { billedAsInUse, findInLibrary, type LibraryModel, pricesInUse } from './library.ts';

export interface ModelLimits {
  /** Input and output together. */
  contextTokens?: number | undefined;
  /** Per response, reasoning included. Never lower than the provider's limit. */
  maxOutputTokens?: number | undefined;
}

/**
 * Output limits by model, from the providers' documentation of November 2026; the library has context windows only.
 * Uncertain limits use the larger figure, because a limit that is too low would let a response cost more than its hold.
 * Applies only to models served by their makers or Azure: other hosts of open weights set their own limits.
 */
const MAX_OUTPUT_TOKENS: readonly (readonly [RegExp, number])[] = [
  [/^gpt-3\.5-turbo(-1106|-instruct)?$/, 4_096],
  [/^gpt-4-(turbo|vision-preview)$/, 4_096],
  [/^gpt-4o-2024-05-13$/, 4_096],
  [/^gpt-4\.1(-mini|-nano)?$/, 32_768],
  [/^gpt-4\.5-preview$/, 16_384],
  [/^(chatgpt-4o-latest|gpt-audio(-mini)?|(ft:)?gpt-4o(-mini)?(-audio-preview|-search-preview)?)$/, 16_384],
  [/^gpt-5-pro$/, 272_000],
  [/^gpt-[56](\.\d)?(-(mini|nano|pro|codex|codex-mini|sol|terra|luna|astra))?$/, 128_000],
  [/^o1-preview$/, 32_768],
  [/^o1-mini$/, 65_536],
  [/^(o1|o3|o4|codex)(-mini|-pro|-deep-research|-mini-deep-research)?$/, 100_000],
  [/^claude-(2|3-(haiku|opus|sonnet))\b/, 4_096],
  [/^claude-3[-.]5-/, 8_192],
  [/^claude-3[-.]7-/, 128_000],
  [/^claude-(4-opus|opus-4(-[01]|\.1)?)$/, 32_000],
  [/^claude-(4-sonnet|sonnet-4(-[05]|\.5)?|opus-4[-.]5|haiku-4[-.]5)$/, 64_000],
  [/^claude-((opus|sonnet)-4[-.][678]|(opus|sonnet|haiku|fable)-5([-.]\d)?)$/, 128_000],
  [/^gemini-(1\.5|flash-1\.5|pro-1\.5|pro$|1\.0)/, 8_192],
  [/^gemini-[23]\.?\d?-(pro|flash)/, 65_536],
  [/^deepseek-(chat|reasoner|v4)/, 393_216],
];

const MAKERS: ReadonlySet<string> = new Set(['anthropic', 'azure', 'deepseek', 'gemini', 'google', 'openai']);

/** Models that OpenRouter forwards to their makers: `openai/gpt-4o`. The makers' limits apply. */
const PASSED_ON = /^(?:anthropic|google|openai)\//;

const SANDBOX_LIMITS: ModelLimits = { contextTokens: 128_000, maxOutputTokens: 16_384 };

/** By provider, then model. Every request looks here, and a joined key would have to be built and hashed each time. */
const cache = new Map<string, Map<string, ModelLimits | undefined>>();
let entries = 0;
/** The price data that the cache was filled from. */
let source = pricesInUse();
let sellers = billedAsInUse();
const MAX_CACHED = 10_000;
const MAX_NAME_LENGTH = 256;

/**
 * A model's known context window and output limit. Without an output limit of its own, the context window bounds the
 * output. Undefined for models missing from the price data.
 */
export function modelLimits(providerName: string, model: string): ModelLimits | undefined {
  if (pricesInUse() !== source || billedAsInUse() !== sellers) forgetAll();
  const models = cache.get(providerName);
  const cached = models?.get(model);
  if (cached || models?.has(model)) return cached;
  if (providerName.length + model.length > MAX_NAME_LENGTH) return undefined;
  const limits = findLimits(providerName, model);
  remember(providerName, model, limits);
  return limits;
}

/** Clears the cache. Other price data has other context windows. */
function forgetAll(): void {
  cache.clear();
  entries = 0;
  source = pricesInUse();
  sellers = billedAsInUse();
}

function remember(providerName: string, model: string, limits: ModelLimits | undefined): void {
  if (entries >= MAX_CACHED) forgetAll();
  const models = cache.get(providerName) ?? new Map<string, ModelLimits | undefined>();
  cache.set(providerName, models.set(model, limits));
  entries++;
}

function findLimits(providerName: string, model: string): ModelLimits | undefined {
  if (providerName === 'sandbox') return SANDBOX_LIMITS;
  const match = findInLibrary(providerName, model, 0);
  if (!match) return undefined;
  const { contextTokens } = match;
  const maxOutputTokens = maxOutput(match) ?? contextTokens;
  return {
    // Some context windows in the data are outdated and too small.
    ...(contextTokens !== undefined && { contextTokens: Math.max(contextTokens, maxOutputTokens ?? 0) }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  };
}

function maxOutput({ providerId, modelId }: LibraryModel): number | undefined {
  const isPassedOn = providerId === 'openrouter' && PASSED_ON.test(modelId);
  // Claude at Bedrock has its maker's limits.
  const isAtBedrock = providerId === 'aws' && modelId.includes('anthropic.');
  if (!isPassedOn && !isAtBedrock && !MAKERS.has(providerId)) return undefined;
  const name = isPassedOn ? modelId.replace(PASSED_ON, '') : isAtBedrock ? makersModel(modelId) : modelId;
  return MAX_OUTPUT_TOKENS.find(([pattern]) => pattern.test(name))?.[1];
}
