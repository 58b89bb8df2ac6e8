import type { Saving } from '../../compression/compress-request.ts';
import type { NanoUsd } from '../../money.ts';
import { costOf } from '../../pricing/cost.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import type { TokenUsage } from '../../usage.ts';
import type { Gateway } from '../context/gateway.ts';
import type { TierChoice } from '../context/tier-choice.ts';
import type { Metered } from './metered.ts';

/**
 * An estimate of what the same request would have cost more with the tokens that were left out. Where they would have
 * stood among what the provider read from its cache, or wrote to it, they are worth only the price of that.
 */
export function savedMoney(
  savings: readonly Saving[],
  usage: TokenUsage,
  card: PriceCard | undefined,
): NanoUsd {
  if (!card || savings.length === 0 || usage.inputTokens === 0) return 0;
  const read = usage.cachedInputTokens;
  const written = usage.cacheWriteTokens + usage.cacheWrite1hTokens;
  // No spread: it is on the way of every request.
  const whole: TokenUsage = Object.assign({}, usage);
  for (const { tokens, tokensBehind } of savings) {
    // Counted from the end, since what comes before the conversation (tools, instructions) is not known.
    const place = usage.inputTokens - tokensBehind;
    whole.inputTokens += tokens;
    if (place <= read) whole.cachedInputTokens += tokens;
    else if (place > read + written) continue;
    else if (usage.cacheWrite1hTokens > usage.cacheWriteTokens) whole.cacheWrite1hTokens += tokens;
    else whole.cacheWriteTokens += tokens;
  }
  return costOf(whole, card) - costOf(usage, card);
}

/** An estimate, in nano-USD, of what the cheaper tier's answer would have cost more of the strong one. */
export function savedByTier(
  { catalog, clock }: Gateway,
  { decision, strong }: TierChoice,
  { usage, costNanoUsd }: Metered,
): number | undefined {
  if (!decision.applied || decision.tier === 'strong') return undefined;
  const card = catalog().find(strong.provider.name, strong.model, clock.now());
  return card && costOf(usage, card) - costNanoUsd;
}
