import { type Amount, amountOf, MAX_AMOUNT_NANO_USD, type NanoUsd, NO_COST } from '../../money.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import type { Admitted } from '../admission/admitted.ts';
import { inputWith, type Quote } from '../admission/quote.ts';
import type { Relay } from '../answer/relay.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

/** The usage of an attempt, its cost, and the record flags that say how reliable they are. */
export interface Metered {
  usage: TokenUsage;
  costNanoUsd: Amount;
  flags: number;
  /** The model that answered, where its price is known and it is another than the requested one. */
  servedModel?: string | undefined;
  /** The part of the cost that a router charged beside the model that it chose. */
  routerFeeNanoUsd?: NanoUsd | undefined;
  /** Figures that no report and no price page states, and that were assumed. */
  assumed?: readonly string[] | undefined;
  /** Figures of the provider's report that contradict each other. */
  conflicts?: readonly string[] | undefined;
}

/** An attempt that has ended, to be metered. */
export interface Metering {
  context: AnyRequestContext;
  target: Target;
  admitted: Admitted;
  relay: MeteredAnswer;
  /** When the request was sent, monotonic milliseconds. */
  sentAt: number;
  /** The provider ended the answer itself: it has generated nothing beyond what it delivered. */
  whole: boolean;
  /** The answer was broken off, and not by the provider: it may generate on. */
  mayGoOn: boolean;
}

/** The parts of an answer that metering reads. */
export type MeteredAnswer = Pick<
  Relay,
  | 'status'
  | 'usage'
  | 'usageIs'
  | 'toolResults'
  | 'isReadable'
  | 'isStream'
  | 'firstByteAt'
  | 'lastByteAt'
  | 'receivedText'
  | 'firstEvents'
  | 'unsent'
  | 'unended'
>;

/** For a call that was never sent. */
export const NOTHING_USED: Metered = { usage: NO_USAGE, costNanoUsd: NO_COST, flags: 0 };

/** A reported value, cut to the most that is possible. */
interface Clamped<T> {
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
