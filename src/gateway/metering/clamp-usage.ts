import { type Amount, amountOf, MAX_AMOUNT_NANO_USD } from '../../money.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import { inputWith, type Quote } from '../admission/quote.ts';

/** A reported value, cut to the most that is possible. */
export interface Clamped<T> {
  value: T;
  wasCut: boolean;
}

/**
 * Cuts reported usage to what the model can have, or what was held for if that is more. A broken provider may report
 * any number, and it would distort every total.
 */
export function clampUsage(usage: TokenUsage, quote: Quote): Clamped<TokenUsage> {
  const mostInput = Math.max(quote.possibleTokens, inputWith(quote, quote.tools?.calls));
  const mostOutput = (quote.possibleTokens + quote.beyondLimit) * quote.choices;
  const { inputTokens, outputTokens } = usage;
  if (inputTokens <= mostInput && outputTokens <= mostOutput) return { value: usage, wasCut: false };
  const isInput = inputTokens > mostInput;
  const isOutput = outputTokens > mostOutput;
  return {
    value: {
      // The parts of an impossible total are not reliable either.
      ...(isInput ? { ...NO_USAGE, inputTokens: mostInput } : usage),
      outputTokens: Math.min(outputTokens, mostOutput),
      reasoningTokens: isOutput ? 0 : usage.reasoningTokens,
      audioOutputTokens: isOutput ? 0 : usage.audioOutputTokens,
      imageOutputTokens: isOutput ? mostOutput : usage.imageOutputTokens,
    },
    wasCut: true,
  };
}

/** No single answer costs a hundredth of the largest possible cap. */
const MAX_COST = amountOf(MAX_AMOUNT_NANO_USD / 100);

export function clampCost(costNanoUsd: Amount): Clamped<Amount> {
  const wasCut = costNanoUsd > MAX_COST;
  return { value: wasCut ? MAX_COST : costNanoUsd, wasCut };
}
