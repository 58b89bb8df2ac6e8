import type { Bound, NanoUsd } from '../../money.ts';
import type { AnswerWire, Wire } from '../../wire/wire.ts';
import type { AnyRequestContext, RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';
import { costWith, type Quote } from './quote.ts';

/** A request's hold, as the ledger has written it. */
export interface Admitted {
  quote: Quote;
  heldNanoUsd: NanoUsd;
  /** Room of the tightest budget; null if the project has no budget. */
  remaining: NanoUsd | null;
  /** Output limit of each choice to write into the request. */
  limit: number | undefined;
  /** Limit of calls of the provider's tools to write into the request. */
  calls: number | undefined;
}

/** The output limit of each choice that the provider keeps to. */
export function limitOf({ limit, quote }: Admitted): number {
  return limit ?? quote.outputTokens;
}

/** The most that the request can cost with the limits that it was sent with. */
export function worstCaseOf(admitted: Admitted): Bound {
  const { quote } = admitted;
  // No more than without lowered limits: a request that is passed through has an amount, but no bound of its tokens.
  return Math.min(costWith(quote, limitOf(admitted), callsOf(admitted)), quote.amount) as Bound;
}

/** The calls of the provider's tools that the hold covers. */
export function callsOf({ calls, quote }: Admitted): number | undefined {
  return calls ?? quote.tools?.calls;
}

/** Whether the request goes out without the searches that it asks for, as its budget has no room for one. */
export function isSearchLeftOut({
  context,
  admitted,
}: Pick<AdmittedRequest, 'admitted'> & { context: AnyRequestContext }): boolean {
  return admitted.calls === 0 && context.request.serverTools?.removal !== undefined;
}

/** A request, its target and its hold. */
export interface AdmittedRequest<W extends AnswerWire = Wire> {
  context: RequestContext<W>;
  target: Target;
  admitted: Admitted;
}
