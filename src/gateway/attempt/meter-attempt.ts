import { type MeterParts, meterCall } from '../metering/meter.ts';
import type { Metered } from '../metering/metered.ts';
import type { Attempt, AttemptResult } from './attempt.ts';

/** What one attempt used and what that costs. */
export function meterAttempt(
  gateway: MeterParts,
  { context, target, admitted }: Attempt,
  { relay, sentAt, end }: AttemptResult,
): Metered | Promise<Metered> {
  // A provider that reports an error inside its stream has broken off, and keeps what it did not send.
  const whole = end.kind === 'complete' && relay.streamError === undefined;
  return meterCall(gateway, { context, target, admitted, relay, sentAt, whole }, end);
}
