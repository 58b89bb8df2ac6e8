import type { PriceCard } from '../../pricing/price-card.ts';
import { rateAt } from '../../pricing/rate.ts';
import type { TokenUsage } from '../../usage.ts';
import type { Target } from '../state/resolver.ts';

/** How a provider caches prompts that nobody has marked. */
interface AutomaticCache {
  minTokens: number;
  stepTokens: number;
  ttlMs: number;
}

const MINUTES_5 = 5 * 60_000;
const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

/** https://platform.openai.com/docs/guides/prompt-caching: from 1,024 tokens in steps of 128, 5 idle minutes at least. */
const OPENAI: AutomaticCache = { minTokens: 1_024, stepTokens: 128, ttlMs: MINUTES_5 };
/** https://api-docs.deepseek.com/guides/kv_cache: in units of 64 tokens, kept for hours. */
const DEEPSEEK: AutomaticCache = { minTokens: 64, stepTokens: 64, ttlMs: 2 * HOUR };

/** Models that cache long prompts of their own accord have a price for cached input; these have one for other reasons. */
const NOT_AUTOMATIC = /gemini-(?:1|2\.0)|qwen/i;

/** Models whose cache has what requests mark, and that report what they write: later breakpoints look back 20 blocks. */
export const isMarked = ({ model }: Target): boolean => /claude/i.test(model);
/** https://platform.claude.com/docs/en/build-with-claude/prompt-caching */
export const LOOKBACK_BLOCKS = 20;
/** No provider but DeepSeek caches less. */
export const MIN_TOKENS = OPENAI.minTokens;
export const STEP_TOKENS = OPENAI.stepTokens;

/** What a provider's cache has of a prompt once it is answered. */
export interface Cached {
  tokens: number;
  ttlMs: number;
}

/** What is known of the session's cache, apart from the answer. */
interface CacheHistory {
  /** The provider has read from its cache before. */
  hasRead: boolean;
  /** How long the prompt that this one continues was kept. */
  keptMs: number | undefined;
  /** The request asks for `prompt_cache_retention: 24h`. */
  isKeptADay: boolean;
}

/** What the cache has of a prompt once it is answered. Providers without rules of their own are taken for OpenAI. */
export function cachedAfter(
  target: Target,
  usage: TokenUsage,
  card: PriceCard | undefined,
  { hasRead, keptMs, isKeptADay }: CacheHistory,
): Cached {
  const { provider, model } = target;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, cacheWrite1hTokens } = usage;
  const reported = cachedInputTokens + cacheWriteTokens + cacheWrite1hTokens;
  if (isMarked(target)) {
    const writtenMs = cacheWriteTokens > 0 ? MINUTES_5 : cacheWrite1hTokens > 0 ? HOUR : undefined;
    return { tokens: reported, ttlMs: writtenMs ?? keptMs ?? MINUTES_5 };
  }
  const { minTokens, stepTokens, ttlMs } = provider.name === 'deepseek' ? DEEPSEEK : OPENAI;
  const isAutomatic = !NOT_AUTOMATIC.test(model) && isCheaper(card);
  const isCached = hasRead || cachedInputTokens > 0 || isAutomatic;
  const whole = inputTokens < minTokens ? 0 : inputTokens - (inputTokens % stepTokens);
  const tokens = isCached ? Math.max(reported, whole) : reported;
  return { tokens, ttlMs: isKeptADay ? DAY : ttlMs };
}

/** Whether input from the cache costs less than other input, so that there is a cache. */
function isCheaper(card: PriceCard | undefined): boolean {
  return card !== undefined && rateAt(card.cachedInput, 0) < rateAt(card.input, 0);
}
