import type { NanoUsd } from '../../money.ts';
import type { TokenUsage } from '../../usage.ts';
import { NO_USAGE } from '../../usage.ts';
import type { Admitted } from '../admission/admitted.ts';
import type { Relay } from '../answer/relay.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';

/** What a request used, what that costs, and the flags that say how sure this is. */
export interface Metered {
  usage: TokenUsage;
  costNanoUsd: NanoUsd;
  flags: number;
}

export interface Metering {
  context: AnyRequestContext;
  target: Target;
  admitted: Admitted;
  relay: Answered;
  /** When the request went out, monotonic milliseconds. */
  sentAt: number;
  /** The provider ended the answer itself, so nothing is on its way any more. */
  whole: boolean;
}

/** What metering reads of an answer. */
export type Answered = Pick<
  Relay,
  | 'status'
  | 'usage'
  | 'usageIs'
  | 'isReadable'
  | 'isStream'
  | 'firstByteAt'
  | 'lastByteAt'
  | 'receivedText'
  | 'unended'
>;

/** Of a call that was never sent. */
export const NOTHING_USED: Metered = { usage: NO_USAGE, costNanoUsd: 0, flags: 0 };
