import { isFree } from '../../pricing/cost.ts';
import { POSSIBLE_TOKENS, type Quote } from '../admission/quote.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Target } from '../state/resolve.ts';
import type { Costs } from './costs.ts';

/**
 * The quote of what nobody can bound. A project with a budget is refused it, unless `passthrough.unmetered` allows it:
 * then it needs room for the smallest amount there is, so that a budget that is used up stops it.
 */
export function unboundedQuote(gateway: Gateway, target: Target, costs: Costs): Quote {
  const card = gateway.catalog().find(target.provider.name, target.model, gateway.clock.now());
  const isAllowed = gateway.settings()['passthrough.unmetered'] === 'allow';
  const costsNothing = costs === 'nothing' || (card !== undefined && isFree(card));
  const amount = costsNothing ? 0 : 1;
  return {
    card,
    listed: card,
    heldTenths: 10,
    inputTokens: 0,
    outputTokens: Number.MAX_SAFE_INTEGER,
    choices: 1,
    amount,
    least: amount,
    mayCut: false,
    mustLimit: false,
    unpriced: !costsNothing && !isAllowed,
    beyondLimit: 0,
    reasoningTokens: 0,
    possibleTokens: POSSIBLE_TOKENS,
    tools: undefined,
  };
}
