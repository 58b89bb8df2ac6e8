import type { NanoUsd } from '../../money.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Admitted } from './admitted.ts';
import { costWith, type Fit, fitInto, type Quote, smallRequestCost } from './quote.ts';

/** A hold to ask the ledger for, and the limits that keep the request within it. */
export interface FittingHold {
  quote: Quote;
  /** Output limit of each choice to write into the request; undefined if it needs none. */
  outputTokens: number | undefined;
  /** Limit of calls of the provider's tools; undefined if the provider has no tools. */
  calls: number | undefined;
  /** Worst case of a small request at the same price. */
  small: NanoUsd;
  /** Lowers the limits until the request fits into `room`, and returns its worst case; undefined if it can't fit. */
  fitInto(room: NanoUsd): NanoUsd | undefined;
}

/** Output beyond the least that is enough for nearly every answer. */
const ENOUGH_TOKENS = 16_384;

/**
 * Leaves half of the room to other requests, as far as the limit stays enough: they would wait for the end of an answer
 * that takes all of it for tokens that it hardly ever has.
 */
function shareRoom(quote: Quote, fit: Fit, room: NanoUsd): Fit {
  const enough = quote.leastOutputTokens + ENOUGH_TOKENS;
  if (fit.outputTokens >= quote.outputTokens || fit.outputTokens <= enough) return fit;
  const half = fitInto(quote, Math.floor(room / 2));
  // Half of it may not do for the same calls.
  const outputTokens = Math.max(half && half.calls === fit.calls ? half.outputTokens : 0, enough);
  return { outputTokens, calls: fit.calls, amount: costWith(quote, outputTokens, fit.calls) };
}

/** The worst case with no more output than is enough for nearly every answer. */
export function enoughFor(quote: Quote): NanoUsd {
  const outputTokens = Math.min(quote.outputTokens, quote.leastOutputTokens + ENOUGH_TOKENS);
  return Math.max(quote.least, Math.min(quote.amount, costWith(quote, outputTokens, quote.tools?.calls)));
}

export function fittingHold(gateway: Pick<Gateway, 'settings'>, quote: Quote): FittingHold {
  const minOutputTokens = gateway.settings()['admission.min_output_tokens'];
  const hold: FittingHold = {
    quote,
    outputTokens: quote.mustLimit ? quote.outputTokens : undefined,
    calls: quote.tools?.calls,
    small: smallRequestCost(quote, minOutputTokens),
    fitInto(room) {
      const whole = fitInto(quote, room);
      if (!whole) return undefined;
      const fit = shareRoom(quote, whole, room);
      if (fit.outputTokens < quote.outputTokens) hold.outputTokens = fit.outputTokens;
      hold.calls = fit.calls;
      return fit.amount;
    },
  };
  return hold;
}

export function toAdmitted(
  { request }: AnyRequestContext,
  { amount, remaining }: { amount: NanoUsd; remaining: NanoUsd | null },
  { quote, outputTokens, calls }: FittingHold,
): Admitted {
  // Without a budget the request needs no limits.
  const hasBudget = remaining !== null;
  return {
    quote,
    heldNanoUsd: amount,
    remaining,
    limit: hasBudget ? outputTokens : undefined,
    calls: hasBudget && request.serverTools?.maxCalls === undefined ? calls : undefined,
  };
}
