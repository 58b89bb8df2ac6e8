import type { NanoUsd } from '../../money.ts';
import { worstCase } from '../../pricing/cost.ts';
import type { Fit } from '../../store/ledger/offer.ts';
import type { LoweredLimit, RecordedNeed } from '../../store/ledger/record.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import { feesWith, inputWith, type Quote } from './quote.ts';

interface NeedOptions {
  /** The worst case that is needed or held. */
  amount: NanoUsd;
  /** The output limit of each choice behind `amount`. */
  outputTokens: number;
  calls: number | undefined;
  /** The request's own output limit of each choice. */
  maxOutputTokens: number | undefined;
}

/** Splits the worst case of a quote into its parts; undefined when the price is unknown. */
export function needOf(
  quote: Quote,
  { amount, outputTokens, calls, maxOutputTokens }: NeedOptions,
): RecordedNeed | undefined {
  const { card, choices, inputBound, beyondLimit } = quote;
  // A request that is passed through has no bound of its output.
  if (!card || outputTokens === Number.MAX_SAFE_INTEGER) return undefined;
  const inputTokens = inputWith(quote, calls);
  const inputNanoUsd = Math.min(amount, worstCase({ inputTokens, outputTokens: 0, choices }, card));
  const feesNanoUsd = feesWith(quote, calls);
  return {
    inputTokens,
    inputBound,
    outputTokens: (outputTokens + beyondLimit) * choices,
    outputAskedTokens: maxOutputTokens === undefined ? null : maxOutputTokens * choices,
    inputNanoUsd,
    outputNanoUsd: Math.max(0, amount - inputNanoUsd - feesNanoUsd),
    feesNanoUsd,
  };
}

/** The need of a quote that is held under the limits of a fit. */
export function heldNeed(
  { maxOutputTokens, serverTools }: Pick<WireRequest, 'maxOutputTokens' | 'serverTools'>,
  quote: Quote,
  { amount, outputTokens, calls }: Fit,
): RecordedNeed | undefined {
  return needOf(quote, {
    amount,
    outputTokens: outputTokens ?? quote.outputTokens,
    calls: serverTools?.maxCalls === undefined ? calls : quote.tools?.calls,
    maxOutputTokens,
  });
}

/** The need of a request whose output and tool calls are cut as far as they may be. */
export function leastNeed(
  quote: Quote,
  amount: NanoUsd,
  maxOutputTokens: number | undefined,
): RecordedNeed | undefined {
  return needOf(quote, {
    amount,
    outputTokens: quote.leastOutputTokens,
    calls: quote.tools?.leastCalls,
    maxOutputTokens,
  });
}

/** The client's limit and the lower one that gw sends; undefined unless gw lowers it. */
export function loweredLimit(
  { outputTokens }: Quote,
  sent: number | undefined,
  asked: number | undefined,
): LoweredLimit | undefined {
  return sent !== undefined && sent < outputTokens ? { asked: asked ?? null, sent } : undefined;
}
