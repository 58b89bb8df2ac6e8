import type { GwError } from '../../errors.ts';
import type { Gateway } from '../context/gateway.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import { recordOf } from '../context/request-record.ts';
import { blockedDetail } from './outcome.ts';

type RecordParts = Pick<Gateway, 'clock' | 'ledger'>;

/** Records a refused request that has no hold. Requests with `service.explain` are not recorded. */
export async function recordRefusal(
  gateway: RecordParts,
  context: AnyRequestContext,
  error: GwError,
): Promise<void> {
  if (context.options.explain || context.exchange.recorded || error.recorded) return;
  const ending = {
    status: error.status,
    outcome: 'refused',
    // 429 and 503 of a budget that had no room now.
    detail: { error: error.code, ...('cap_usd' in error.fields ? blockedDetail(error.fields) : {}) },
    need: context.exchange.need,
  } as const;
  await gateway.ledger.record(recordOf(context, undefined, ending, gateway.clock.monotonic()));
}

/** Records a request whose client hung up while it waited for room. */
export async function recordGone(gateway: RecordParts, context: AnyRequestContext): Promise<void> {
  if (context.options.explain) return;
  const ending = { status: 499, outcome: 'client_gone', need: context.exchange.need } as const;
  await gateway.ledger.record(recordOf(context, undefined, ending, gateway.clock.monotonic()));
}
