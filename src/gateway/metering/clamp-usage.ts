import { MAX_AMOUNT_NANO_USD, type NanoUsd } from '../../money.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import { inputWith, type Quote } from '../admission/quote.ts';

/** What a provider reported, cut down to what can be; the very same where it can. */
export interface Clamped<T> {
  value: T;
  /** It was more than can be. */
  wasCut: boolean;
}

/**
 * A broken provider may report any number, and one such would stand in every sum: no model reads or writes more in one
 * go than fits into its context, or than was held for. What is reported below that is believed.
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
      // The parts of a total that can't be are nothing to go by.
      ...(isInput ? { ...NO_USAGE, inputTokens: mostInput } : usage),
      outputTokens: Math.min(outputTokens, mostOutput),
      reasoningTokens: isOutput ? 0 : usage.reasoningTokens,
      audioOutputTokens: isOutput ? 0 : usage.audioOutputTokens,
    },
    wasCut: true,
  };
}

/** No single answer costs a hundredth of the largest cap there is. */
const MOST_FOR_ONE: NanoUsd = MAX_AMOUNT_NANO_USD / 100;

export function clampCost(costNanoUsd: NanoUsd): Clamped<NanoUsd> {
  const wasCut = costNanoUsd > MOST_FOR_ONE;
  return { value: wasCut ? MOST_FOR_ONE : costNanoUsd, wasCut };
}
