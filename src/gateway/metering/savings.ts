import type { Saving } from '../../compression/compress-request.ts';
import type { NanoUsd } from '../../money.ts';
import { costOf } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import type { TokenUsage } from '../../usage.ts';
import type { Gateway } from '../context/gateway.ts';
import type { TierChoice } from '../context/request-context.ts';
import type { Metered } from './metered.ts';

/**
 * Estimate of what the removed tokens would have cost. A token counts at the price of the part of the prompt that it
 * was removed from: read from the provider's cache, written to it, or neither.
 */
export function savedMoney(
  savings: readonly Saving[],
  usage: TokenUsage,
  card: PriceCard | undefined,
): NanoUsd {
  if (!card || savings.length === 0 || usage.inputTokens === 0) return 0;
  const read = usage.cachedInputTokens;
  const written = usage.cacheWriteTokens + usage.cacheWrite1hTokens;
  // Object.assign is cheaper than a spread, and this runs for every request.
  const original: TokenUsage = Object.assign({}, usage);
  for (const { tokens, tokensBehind } of savings) {
    // Counted from the end, since the length of what precedes the conversation (tools, instructions) is unknown.
    const position = usage.inputTokens - tokensBehind;
    original.inputTokens += tokens;
    if (position <= read) original.cachedInputTokens += tokens;
    else if (position > read + written) continue;
    else if (usage.cacheWrite1hTokens > usage.cacheWriteTokens) original.cacheWrite1hTokens += tokens;
    else original.cacheWriteTokens += tokens;
  }
  return costOf(original, card) - costOf(usage, card);
}

/** Estimate, in nano-USD, of how much more the strong tier would have cost for the weak tier's usage. */
export function savedByTier(
  { catalog, clock }: Pick<Gateway, 'clock' | 'catalog'>,
  { decision, strong }: TierChoice,
  { usage, costNanoUsd }: Metered,
): number | undefined {
  if (!decision.applied || decision.tier === 'strong') return undefined;
  const card = catalog().find(strong.provider.name, strong.model, clock.now());
  return card && costOf(usage, card) - costNanoUsd;
}
