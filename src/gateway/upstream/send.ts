import type { Dispatcher } from 'undici';
import type { StallWatch, WatchedCall } from '../state/stall-watch.ts';
import type { Upstream } from '../state/upstream-pools.ts';

/** Takes in a provider's answer as it comes. */
export interface Receiver {
  /** The provider has answered; raw header names and values in turn. */
  head(status: number, rawHeaders: Buffer[], resume: () => void): void;
  /** False asks for a pause, until `resume`. */
  data(chunk: Buffer): boolean;
}

/** How a call of a provider ended. */
export type CallEnd =
  | { kind: 'complete' }
  /** Cut by gw itself, as the client is gone. */
  | { kind: 'aborted'; sent: boolean }
  /** Cut by gw itself, as the provider generated more than was held for. */
  | { kind: 'capped' }
  /** `sent` tells whether the request may have reached the provider. */
  | { kind: 'failed'; error: Error & { code?: string }; sent: boolean; answered: boolean };

/** The code of a failure: the answer is longer than gw translates. */
export const TOO_LONG = 'ANSWER_TOO_LONG';

/** One request to a provider. */
export interface UpstreamCall {
  end: Promise<CallEnd>;
  /** Closes the connection at once. */
  abort(): void;
}

export interface UpstreamRequest {
  /** POST if it is left out. */
  method?: string;
  path: string;
  headers: string[];
  body: Buffer | null;
}

/**
 * Sends a request through undici's dispatch, the cheapest way there is (measured against request, stream and fetch);
 * the receiver's methods run inside its parser, without a promise or a stream between.
 */
export function send(upstream: Upstream, outgoing: UpstreamRequest, receiver: Receiver): UpstreamCall {
  const handler = new Handler(receiver, upstream.stalls);
  const end = new Promise<CallEnd>((resolve) => {
    handler.resolve = resolve;
  });
  upstream.dispatcher.dispatch(
    {
      path: outgoing.path,
      // Any of HTTP's methods, as the client's was.
      method: (outgoing.method ?? 'POST') as Dispatcher.HttpMethod,
      headers: outgoing.headers,
      body: outgoing.body,
    },
    handler,
  );
  return { end, abort: () => handler.cancel() };
}

/** The call that is not made, as the client went before. */
export function notSent(): UpstreamCall {
  return { end: Promise.resolve({ kind: 'aborted', sent: false }), abort: () => {} };
}

const ignore = () => {};

class Handler implements Dispatcher.DispatchHandler, WatchedCall {
  resolve: (end: CallEnd) => void = ignore;
  moved = true;
  paused = false;
  answered = false;
  quietLooks = 0;
  place = -1;
  readonly #receiver: Receiver;
  readonly #stalls: StallWatch;
  #abort: ((reason?: Error) => void) | undefined;
  #cancelled = false;

  constructor(receiver: Receiver, stalls: StallWatch) {
    this.#receiver = receiver;
    this.#stalls = stalls;
  }

  cancel(): void {
    this.#cancelled = true;
    if (this.#abort) this.#abort();
    // It still waits for a connection: nothing was sent, and nothing will be.
    else this.resolve({ kind: 'aborted', sent: false });
  }

  stall(error: Error): void {
    this.#abort?.(error);
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort;
    if (this.#cancelled) abort();
    else this.#stalls.add(this);
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    this.moved = true;
    // 1xx answers are no answers yet.
    if (status < 200) return true;
    this.answered = true;
    this.#receiver.head(status, rawHeaders, () => {
      this.paused = false;
      this.moved = true;
      resume();
    });
    return true;
  }

  onData(chunk: Buffer): boolean {
    this.moved = true;
    const more = this.#receiver.data(chunk);
    this.paused = !more;
    return more;
  }

  onComplete(): void {
    this.#stalls.remove(this);
    this.resolve({ kind: 'complete' });
  }

  onError(error: Error): void {
    this.#stalls.remove(this);
    if (this.#cancelled) this.resolve({ kind: 'aborted', sent: true });
    else this.resolve({ kind: 'failed', error, sent: this.#abort !== undefined, answered: this.answered });
  }
}
