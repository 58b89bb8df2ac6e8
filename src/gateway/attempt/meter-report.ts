import type { Gateway } from '../context/gateway.ts';
import { meterCall } from '../metering/meter.ts';
import type { Metered } from '../metering/metered.ts';
import type { CallReport, Forwarding } from './attempt.ts';

/** What one call used and what that costs. */
export function meterReport(
  gateway: Gateway,
  forwarding: Forwarding,
  { relay, sentAt, end }: CallReport,
): Metered | Promise<Metered> {
  const { job, target, admitted } = forwarding;
  // A provider that reports an error within its stream has broken off, with all that it kept to itself.
  const whole = end.kind === 'complete' && relay.streamError === undefined;
  return meterCall(gateway, { job, target, admitted, relay, sentAt, whole }, end);
}
