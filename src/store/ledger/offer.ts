import type { NanoUsd } from '../../money.ts';
import type { RecordedNeed, RequestRecord } from './record.ts';

/** The limits under which a request costs at most `amount`. */
export interface Fit {
  amount: NanoUsd;
  /** Output limit of each choice to write into the request; undefined if it needs none. */
  outputTokens?: number | undefined;
  /** Limit of calls of the provider's tools; undefined if the provider has no tools. */
  calls?: number | undefined;
}

/** Terms of a question to a budget's owner. */
export interface AskTerms {
  /** Amount that the request needs to hold, which the owner approves. */
  needed(): NanoUsd;
  /** Until when the request can wait for the answer. UTC milliseconds. */
  expiresAt(): number;
}

/**
 * A rung of the ladder from the dearest quote of a request to the leanest. Nothing in it changes: who goes down takes the
 * next one. Its own `amount` is the worst case under its own limits.
 */
export interface Offer extends Fit {
  /** The lowest worst case that is of use: that of the minimum output, if the output may be cut. */
  least: NanoUsd;
  /** What a small request at the same price can cost: a budget that is too far spent to pay for it is exceeded. Default: `least`. */
  small?: NanoUsd | undefined;
  /** The worst case with its own output limit, or else with enough output. Default: `amount`. */
  whole?: NanoUsd;
  /** Lower limits that `room` affords; undefined if they are too low to be of use. */
  fitInto?: (room: NanoUsd) => Fit | undefined;
  /** Whether a fit into `room` leaves too short an output to be taken before the input is counted. */
  isWorthCounting?: (fit: Fit, room: NanoUsd) => boolean;
  /**
   * The lowest worst case that a count of the input may yet show. Nothing is decided where `least` has no room in this
   * period and this has. Worked out when a refusal asks for it; `isAlerted`: the budget's first alert is out.
   */
  leastIfCounted?: (isAlerted: boolean) => NanoUsd | undefined;
  /** The parts of the amount that is held in the end; undefined without a known price. */
  needOf?: (held: Fit) => RecordedNeed | undefined;
  /** The cost can't be bounded: `amount` is 0, and only a request that no budget counts is admitted. */
  unpriced?: boolean;
  /** The record to write if the request is blocked. */
  blockedRecord: () => RequestRecord;
  /** Terms of a question to the owner, if the budgets without room ask; undefined: nobody is asked. */
  asking?: AskTerms | undefined;
  /**
   * The rung with the shortest answers that can be of use; undefined if this one has them. Taken where the request would
   * be refused before the owner has had an alert.
   */
  shorter?: () => Offer | undefined;
}
