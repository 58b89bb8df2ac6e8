import type { Failure } from '../../routing/failure.ts';
import type { Sending } from '../admission/admitted.ts';
import type { Relay } from '../answer/relay.ts';
import type { Metered } from '../metering/metered.ts';
import type { Route } from '../routing/route.ts';
import type { CallEnd } from '../upstream/send.ts';

/** What is sent, and why to this target. */
export interface Attempt extends Sending {
  why: string;
  /** Left out for what is passed through, which has one target. */
  route?: Route;
}

/** How a call went. */
export interface AttemptResult {
  relay: Relay;
  sentAt: number;
  end: CallEnd;
  /** What went wrong, if something did. */
  failure: Failure | undefined;
  /** Once it is known. */
  metered?: Metered;
}
