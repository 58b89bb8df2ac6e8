import { hasNoTokenPrice } from '../../pricing/cost.ts';
import { nanoFromPico } from '../../pricing/pico.ts';
import { POSSIBLE_TOKENS, type Quote } from '../admission/quote.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Target } from '../state/resolver.ts';

/** How a call that is passed through is billed. */
export interface UnboundedCall {
  isFree: boolean;
  /** It generates once, or as many pictures as this: a price for each request is all that it costs. */
  pieces?: number | undefined;
}

/**
 * The quote of a pass-through request, whose usage has no known bound. A budget holds the owner's price for each request,
 * if there is one and the call generates once. Otherwise it refuses the request unless `passthrough.unmetered` allows it;
 * then it holds at least the smallest amount, so that a budget that is spent still stops it. That a model has a price of 0
 * says nothing of what other endpoints do with it.
 */
export function unboundedQuote(
  gateway: Pick<Gateway, 'clock' | 'settings' | 'catalog'>,
  target: Target,
  { isFree, pieces }: UnboundedCall,
): Quote {
  const card = gateway.catalog().find(target.provider.name, target.model, gateway.clock.now());
  const isAllowed = gateway.settings()['passthrough.unmetered'] === 'allow';
  const perRequest = card ? nanoFromPico(card.perRequestPicoUsd * BigInt(pieces ?? 1)) : 0;
  const isBounded = pieces !== undefined && perRequest > 0 && card !== undefined && hasNoTokenPrice(card);
  const amount = isFree ? 0 : Math.max(1, perRequest);
  return {
    card,
    listed: card,
    priceFactor: 1,
    inputTokens: 0,
    inputBound: 'bytes',
    outputTokens: Number.MAX_SAFE_INTEGER,
    choices: 1,
    amount,
    least: amount,
    mayLower: false,
    leastOutputTokens: Number.MAX_SAFE_INTEGER,
    mustLimit: false,
    unpriced: !isFree && !isAllowed && !isBounded,
    ...(perRequest > 0 && !isFree && { perRequest }),
    beyondLimit: 0,
    possibleTokens: POSSIBLE_TOKENS,
    tools: undefined,
  };
}
