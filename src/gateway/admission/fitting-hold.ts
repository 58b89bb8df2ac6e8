import type { NanoUsd } from '../../money.ts';
import type { Fit } from '../../store/ledger/offer.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Admitted } from './admitted.ts';
import { costWith, fitInto, type Quote, type Fit as QuoteFit, smallRequestCost } from './quote.ts';

/** A quote under its own limits, to ask the ledger for, and the lower limits that fit into less room. */
export interface FittingHold extends Fit {
  quote: Quote;
  /** Worst case of a small request at the same price. */
  small: NanoUsd;
  /** The limits with which the request fits into `room`; undefined if it can't. */
  fitInto(room: NanoUsd): Fit | undefined;
}

/** Output beyond the least that is enough for nearly every answer. */
const ENOUGH_TOKENS = 16_384;

/**
 * Leaves half of the room to other requests, as far as the limit stays enough: they would wait for the end of an answer
 * that takes all of it for tokens that it hardly ever has.
 */
function shareRoom(quote: Quote, fit: QuoteFit, room: NanoUsd): QuoteFit {
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
  const ownLimit = quote.mustLimit ? quote.outputTokens : undefined;
  return {
    quote,
    amount: quote.amount,
    outputTokens: ownLimit,
    calls: quote.tools?.calls,
    small: smallRequestCost(quote, minOutputTokens),
    fitInto(room) {
      const most = fitInto(quote, room);
      if (!most) return undefined;
      const { amount, outputTokens, calls } = shareRoom(quote, most, room);
      return { amount, outputTokens: outputTokens < quote.outputTokens ? outputTokens : ownLimit, calls };
    },
  };
}

/** A quote that is held under limits. */
export function toAdmitted(
  { request }: AnyRequestContext,
  quote: Quote,
  { outputTokens, calls }: Fit,
  { amount, remaining }: { amount: NanoUsd; remaining: NanoUsd | null },
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
