import type { TokenUsage } from '../../usage.ts';

/** The relevant contents of complete stream events. */
export interface InspectedEvents {
  /** The events to forward: the input buffer itself unless something is hidden. */
  pass: Buffer;
  /** The closing event, held back until the request is recorded. */
  closing?: Buffer;
  /** Usage as reported by the provider. Later events are merged into earlier ones. */
  usage?: unknown;
  /** Undefined if the usage is final, `opening` if it is the first event's, `so far` if the total may still grow. */
  usageIs?: 'opening' | 'so far' | undefined;
  /** Number of server-side tool results. After each of them the model reads its context again. */
  toolResults?: number;
  /** The provider's error within the stream. */
  error?: string;
}

/** Ends a stream at its output limit in the format of the provider's own ending. */
export interface LimitEnding {
  /** Reads the events sent to the client, in order. */
  take(events: Buffer): void;
  /** The events that end the stream. `usage` is undefined if the client did not request it. */
  end(usage: TokenUsage | undefined): Buffer;
}
