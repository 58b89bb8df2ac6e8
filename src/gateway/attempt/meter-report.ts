import type { Gateway } from '../context/gateway.ts';
import { meterCall } from '../metering/meter.ts';
import type { Metered } from '../metering/metered.ts';
import type { Attempt, AttemptResult } from './attempt.ts';

/** What one call used and what that costs. */
export function meterReport(
  gateway: Gateway,
  attempt: Attempt,
  { relay, sentAt, end }: AttemptResult,
): Metered | Promise<Metered> {
  const { context, target, admitted } = attempt;
  // A provider that reports an error within its stream has broken off, with all that it kept to itself.
  const whole = end.kind === 'complete' && relay.streamError === undefined;
  return meterCall(gateway, { context, target, admitted, relay, sentAt, whole }, end);
}
