import { type Amount, NO_COST } from '../../money.ts';
import type { TokenUsage } from '../../usage.ts';
import { NO_USAGE } from '../../usage.ts';
import type { Admitted } from '../admission/admitted.ts';
import type { Relay } from '../answer/relay.ts';
import type { AnyRequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

/** The usage of an attempt, its cost, and the record flags that say how reliable they are. */
export interface Metered {
  usage: TokenUsage;
  costNanoUsd: Amount;
  flags: number;
  /** The model that answered, where its price is known and it is another than the requested one. */
  servedModel?: string | undefined;
  /** Figures that no report and no price page states, and that were assumed. */
  assumed?: readonly string[] | undefined;
  /** Figures of the provider's report that contradict each other. */
  conflicts?: readonly string[] | undefined;
}

/** An attempt that has ended, to be metered. */
export interface Metering {
  context: AnyRequestContext;
  target: Target;
  admitted: Admitted;
  relay: MeteredAnswer;
  /** When the request was sent, monotonic milliseconds. */
  sentAt: number;
  /** The provider ended the answer itself: it has generated nothing beyond what it delivered. */
  whole: boolean;
  /** The answer was broken off, and not by the provider: it may generate on. */
  mayGoOn: boolean;
}

/** The parts of an answer that metering reads. */
export type MeteredAnswer = Pick<
  Relay,
  | 'status'
  | 'usage'
  | 'usageIs'
  | 'toolResults'
  | 'isReadable'
  | 'isStream'
  | 'firstByteAt'
  | 'lastByteAt'
  | 'receivedText'
  | 'firstEvents'
  | 'unsent'
  | 'unended'
>;

/** For a call that was never sent. */
export const NOTHING_USED: Metered = { usage: NO_USAGE, costNanoUsd: NO_COST, flags: 0 };
