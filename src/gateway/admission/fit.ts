import type { NanoUsd } from '../../money.ts';
import type { Gateway } from '../context/gateway.ts';
import type { Job } from '../context/request-context.ts';
import type { Admitted } from './admitted.ts';
import type { Quote } from './quote.ts';
import { fitInto } from './quote.ts';

/** What a budget that has little room makes of a request. */
export interface Limited {
  quote: Quote;
  /** Output tokens of each choice, and calls of the provider's own tools. */
  outputTokens: number | undefined;
  calls: number | undefined;
  fit(room: NanoUsd): NanoUsd | undefined;
}

export function limiting(gateway: Gateway, quoted: Quote): Limited {
  const minOutputTokens = gateway.settings()['admission.min_output_tokens'];
  const limited: Limited = {
    quote: quoted,
    outputTokens: quoted.mustLimit ? quoted.outputTokens : undefined,
    calls: quoted.tools?.calls,
    fit(room) {
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
  { asked }: Job,
  { amount, remaining }: { amount: NanoUsd; remaining: NanoUsd | null },
  { quote: quoted, outputTokens, calls }: Limited,
): Admitted {
  // Without a budget there is nothing that a limit would protect.
  const isFree = remaining === null;
  return {
    quote: quoted,
    heldNanoUsd: amount,
    remaining,
    limit: isFree ? undefined : outputTokens,
    calls: isFree || asked.serverTools?.mostCalls !== undefined ? undefined : calls,
  };
}
