import { type MeterParts, meterCall } from '../metering/meter.ts';
import type { Metered } from '../metering/metered.ts';
import type { Attempt, AttemptResult } from './attempt.ts';

/** Usage and cost of one attempt. */
export function meterAttempt(
  gateway: MeterParts,
  { context, target, admitted }: Attempt,
  { relay, sentAt, end }: AttemptResult,
): Metered | Promise<Metered> {
  // A stream with an error event is incomplete: the provider did not send the rest.
  const whole = end.kind === 'complete' && relay.streamError === undefined;
  const mayGoOn = end.kind !== 'complete';
  return meterCall(gateway, { context, target, admitted, relay, sentAt, whole, mayGoOn }, end);
}
