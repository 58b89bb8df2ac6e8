import type { TokenUsage } from '../../usage.ts';

/** What a stream's complete events held. */
export interface InspectedEvents {
  /** The events to pass on: the input by reference where nothing is hidden. */
  pass: Buffer;
  /** The closing event, which waits until the request is on record. */
  closing?: Buffer;
  /** The usage that the provider reported, as it came. A later event's adds to an earlier one's. */
  usage?: unknown;
  /** Whether that is all: not where it only opens the stream, nor, if the stream is cut, where it tells how far it was. */
  usageIs?: 'opening' | 'so far' | undefined;
  /** The provider reported an error within the stream. */
  error?: string;
}

/** Ends a stream at its output limit the way the provider should have. */
export interface LimitEnding {
  /** Takes in the events that went out, in order. */
  take(events: Buffer): void;
  /** The events that end the stream; `usage` is left out where the client did not ask for it. */
  end(usage: TokenUsage | undefined): Buffer;
}
