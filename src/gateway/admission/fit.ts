import type { NanoUsd } from '../../money.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Admitted } from './admitted.ts';
import type { Quote } from './quote.ts';
import { fitInto } from './quote.ts';

/** What a budget that has little room makes of a request. */
export interface FittingHold {
  quote: Quote;
  /** Output tokens of each choice, and calls of the provider's own tools. */
  outputTokens: number | undefined;
  calls: number | undefined;
  fitInto(room: NanoUsd): NanoUsd | undefined;
}

export function fittingHold(gateway: Gateway, quoted: Quote): FittingHold {
  const minOutputTokens = gateway.settings()['admission.min_output_tokens'];
  const limited: FittingHold = {
    quote: quoted,
    outputTokens: quoted.mustLimit ? quoted.outputTokens : undefined,
    calls: quoted.tools?.calls,
    fitInto(room) {
      const fitted = fitInto(quoted, room, minOutputTokens);
      if (!fitted) return undefined;
      if (quoted.mayCut) limited.outputTokens = fitted.outputTokens;
      limited.calls = fitted.calls;
      return fitted.amount;
    },
  };
  return limited;
}

export function admittedAs(
  { request }: AnyRequestContext,
  { amount, remaining }: { amount: NanoUsd; remaining: NanoUsd | null },
  { quote: quoted, outputTokens, calls }: FittingHold,
): Admitted {
  // Without a budget there is nothing that a limit would protect.
  const isFree = remaining === null;
  return {
    quote: quoted,
    heldNanoUsd: amount,
    remaining,
    limit: isFree ? undefined : outputTokens,
    calls: isFree || request.serverTools?.maxCalls !== undefined ? undefined : calls,
  };
}
