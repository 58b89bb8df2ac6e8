import type { NanoUsd } from '../../money.ts';
import type { AnswerWire, Wire } from '../../wire/wire.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';
import type { Quote } from './quote.ts';

/** Room that is reserved for a request, durably. */
export interface Admitted {
  quote: Quote;
  heldNanoUsd: NanoUsd;
  /** What the tightest budget has left; null without budgets. */
  remaining: NanoUsd | null;
  /** The output limit per choice to write into the request. */
  limit: number | undefined;
  /** The limit of the calls of the provider's own tools to write into the request. */
  calls: number | undefined;
}

/** The calls of the provider's tools that were held for. */
export function callsOf({ calls, quote }: Admitted): number | undefined {
  return calls ?? quote.tools?.calls;
}

/** What is sent, to whom, on what hold. */
export interface Sending<W extends AnswerWire = Wire> {
  context: RequestContext<W>;
  target: Target;
  admitted: Admitted;
}
