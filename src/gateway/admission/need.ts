import type { NanoUsd } from '../../money.ts';
import { usdNumber } from '../../money.ts';
import { worstCase } from '../../pricing/cost.ts';
import type { InputBound } from '../state/input-bound.ts';
import { feesWith, inputWith, type Quote } from './quote.ts';

/** What a request needs at most, as records and refusals show it. Tokens of all choices, dollars. */
export type Need = {
  input_tokens: number;
  input_bound: InputBound;
  output_tokens: number;
  /** What the request asked for; null if it set no limit. */
  output_asked_tokens: number | null;
  input_usd: number;
  output_usd: number;
  fees_usd: number;
};

export interface NeedOptions {
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
): Need | undefined {
  const { card, choices, inputBound, beyondLimit } = quote;
  if (!card) return undefined;
  const inputTokens = inputWith(quote, calls);
  const inputNanoUsd = Math.min(amount, worstCase({ inputTokens, outputTokens: 0, choices }, card));
  const feesNanoUsd = feesWith(quote, calls);
  return {
    input_tokens: inputTokens,
    input_bound: inputBound,
    output_tokens: (outputTokens + beyondLimit) * choices,
    output_asked_tokens: maxOutputTokens === undefined ? null : maxOutputTokens * choices,
    input_usd: usdNumber(inputNanoUsd),
    output_usd: usdNumber(Math.max(0, amount - inputNanoUsd - feesNanoUsd)),
    fees_usd: usdNumber(feesNanoUsd),
  };
}

/** The need of a request whose output and tool calls are cut as far as they may be. */
export function leastNeed(
  quote: Quote,
  amount: NanoUsd,
  maxOutputTokens: number | undefined,
): Need | undefined {
  return needOf(quote, {
    amount,
    outputTokens: quote.leastOutputTokens,
    calls: quote.tools?.leastCalls,
    maxOutputTokens,
  });
}
