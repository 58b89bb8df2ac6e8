import type { GwError } from '../../errors.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';

/** The record of a request that nothing was held for. A blocked one was recorded by the ledger as it was refused. */
export async function recordRefusal(
  gateway: Gateway,
  context: RequestContext,
  error: GwError,
): Promise<void> {
  if (context.exchange.recorded || RECORDED_ELSEWHERE.has(error.code)) return;
  const ending = {
    status: error.status,
    outcome: 'refused',
    detail: { error: error.code },
  } as const;
  await gateway.ledger.record(recordOf(context, undefined, ending, gateway.clock.monotonic()));
}

/** The record of a request whose client left while it waited for room. */
export async function recordGone(gateway: Gateway, context: RequestContext): Promise<void> {
  const ending = { status: 499, outcome: 'client_gone' } as const;
  await gateway.ledger.record(recordOf(context, undefined, ending, gateway.clock.monotonic()));
}

const RECORDED_ELSEWHERE = new Set([
  'budget_exceeded',
  'rate_exceeded',
  'storage_unavailable',
  // What a translator says of an answer that is none.
  'upstream_failed',
]);
