import { POSSIBLE_TOKENS, type Quote } from '../admission/quote.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Target } from '../state/resolver.ts';

/**
 * The quote of a pass-through request, whose usage has no known bound. A budget refuses it unless
 * `passthrough.unmetered` allows it; then it holds the smallest amount, so that a budget that is spent still stops it. That
 * a model has a price of 0 says nothing of what other endpoints do with it.
 */
export function unboundedQuote(
  gateway: Pick<Gateway, 'clock' | 'settings' | 'catalog'>,
  target: Target,
  isFree: boolean,
): Quote {
  const card = gateway.catalog().find(target.provider.name, target.model, gateway.clock.now());
  const isAllowed = gateway.settings()['passthrough.unmetered'] === 'allow';
  const amount = isFree ? 0 : 1;
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
    unpriced: !isFree && !isAllowed,
    beyondLimit: 0,
    possibleTokens: POSSIBLE_TOKENS,
    tools: undefined,
  };
}
