import type { TokenUsage } from '../../usage.ts';

/** The contents of complete events of a stream. */
export interface InspectedEvents {
  /** The events to pass on: the input buffer itself unless something is hidden. */
  pass: Buffer;
  /** The closing event, which is held back until the request is recorded. */
  closing?: Buffer;
  /** The usage as the provider reported it. A later event's is merged into an earlier one's. */
  usage?: unknown;
  /** Undefined for the final usage; `opening` for that of the first event; `so far` for a total that may still grow. */
  usageIs?: 'opening' | 'so far' | undefined;
  /** How many results of tools that the provider runs. Behind each, the model reads its context again. */
  toolResults?: number;
  /** The error that the provider reported within the stream. */
  error?: string;
}

/** Ends a stream at its output limit as the provider should have. */
export interface LimitEnding {
  /** Reads the events that were sent to the client, in order. */
  take(events: Buffer): void;
  /** The events that end the stream; `usage` is undefined if the client did not request it. */
  end(usage: TokenUsage | undefined): Buffer;
}
