import type { TokenUsage } from '../../usage.ts';
import { namedEvents } from './events.ts';
import { googleError } from './google-error.ts';

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

/** The error that ends a client's stream. */
export interface StreamFault {
  message: string;
  code: string;
}

/** An error event in the format of an endpoint's API. */
export function errorEvent(endpoint: string, { message, code }: StreamFault): Buffer {
  if (endpoint === 'messages') return namedEvents([{ type: 'error', error: { type: 'api_error', message } }]);
  if (endpoint === 'gemini')
    return Buffer.from(`data: ${JSON.stringify({ error: googleError(message, 500) })}\n\n`);
  if (endpoint.startsWith('responses')) {
    // Clients require a sequence number but don't check it.
    return namedEvents([{ type: 'error', sequence_number: 0, code, message, param: null }]);
  }
  return Buffer.from(
    `data: ${JSON.stringify({ error: { message, type: 'api_error', param: null, code } })}\n\n`,
  );
}
