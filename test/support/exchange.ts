import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { deferred } from './deferred.ts';
import { chunkBytes, type Head, headBytes, readBody } from './http-message.ts';
import { type Inbox, PeerGone } from './inbox.ts';

/** What the upstream had done for a request at some moment. */
export interface Progress {
  /** Bytes of the body, without its framing, that the connection had taken. */
  bodyBytes: number;
  /** What a provider would bill: the prompt, and the tokens generated so far. */
  inputTokens: number;
  outputTokens: number;
}

/** One request as the upstream saw it; it fills as the request goes on. */
export interface RecordedRequest {
  method: string;
  /** The target of the request line, with the query. */
  path: string;
  head: Head;
  /** The body's exact bytes, free of `transfer-encoding`; empty until it is whole. */
  body: Buffer;
  /** Counts the upstream's connections from 1: requests with the same number shared one. */
  connection: number;
  progress: Progress;
  /** Set when the peer closed the connection before the answer was over. */
  hungUp?: Progress & { monotonicMs: number };
  /** Resolves when nothing more will be done for this request. */
  done: Promise<void>;
}

/** One request, and the means to answer it byte by byte; each of them throws `PeerGone` once the peer has left. */
export class Exchange {
  readonly request: RecordedRequest;
  /** Resolves with the request's body when it is whole. */
  readonly body: Promise<Buffer>;
  readonly #socket: Socket;
  readonly #gone = deferred<never>();
  readonly #done = deferred<void>();
  #over = false;

  constructor(socket: Socket, inbox: Inbox, head: Head, connection: number) {
    const [method = '', path = ''] = head.firstLine.split(' ');
    const progress = { bodyBytes: 0, inputTokens: 0, outputTokens: 0 };
    const body = Buffer.alloc(0);
    this.request = { method, path, head, body, connection, progress, done: this.#done.promise };
    this.#socket = socket;
    this.body = this.#receive(inbox);
    // Either may come to pass without a script that waits for it.
    this.body.catch(() => {});
    this.#gone.promise.catch(() => {});
  }

  async #receive(inbox: Inbox): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of readBody(inbox, this.request.head, 'empty')) parts.push(part);
    this.request.body = Buffer.concat(parts);
    return this.request.body;
  }

  /** Begins an answer whose body follows in `chunk` calls, framed as `transfer-encoding: chunked`. */
  start(status: number, headers: Record<string, string> = {}): Promise<void> {
    return this.write(headBytes(statusLine(status), { ...headers, 'transfer-encoding': 'chunked' }));
  }

  /** Writes a piece of the body as one chunk, and bills what it holds. */
  async chunk(bytes: Buffer | string, outputTokens = 0): Promise<void> {
    this.request.progress.outputTokens += outputTokens;
    await this.write(chunkBytes(bytes));
    this.request.progress.bodyBytes += Buffer.byteLength(bytes);
  }

  /** Ends what `start` began. */
  finish(): Promise<void> {
    return this.write('0\r\n\r\n');
  }

  /** A whole answer of known length. */
  async send(status: number, headers: Record<string, string>, body: Buffer | string): Promise<void> {
    const length = Buffer.byteLength(body);
    await this.write(headBytes(statusLine(status), { ...headers, 'content-length': String(length) }));
    await this.write(body);
    this.request.progress.bodyBytes += length;
  }

  /** Writes bytes as they are, HTTP or not; resolves when the kernel has taken them. */
  async write(bytes: Buffer | string): Promise<void> {
    if (this.#over) throw new PeerGone();
    const taken = new Promise<void>((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error ? reject(new PeerGone()) : resolve()));
    });
    await this.until(taken);
  }

  /** Waits for a promise, but only as long as the peer stays. */
  until<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([this.#gone.promise, promise]);
  }

  /** Waits for nothing but the peer's leaving. */
  untilGone(): Promise<never> {
    return this.#gone.promise;
  }

  /** Adds to what a provider would bill for this request. */
  bill(tokens: { input?: number; output?: number }): void {
    this.request.progress.inputTokens += tokens.input ?? 0;
    this.request.progress.outputTokens += tokens.output ?? 0;
  }

  /** Closes the connection in order (FIN) after what was written. */
  close(): void {
    this.#over = true;
    this.#socket.end();
  }

  /** Breaks the connection off (RST). */
  reset(): void {
    this.#over = true;
    this.#socket.resetAndDestroy();
  }

  /** For the server: the connection was closed by the other side. */
  peerLeft(): void {
    if (this.#over) return;
    this.#over = true;
    this.request.hungUp = { ...this.request.progress, monotonicMs: performance.now() };
    this.#gone.reject(new PeerGone());
  }

  /** For the server: the script is over. */
  settle(): void {
    this.#over = true;
    this.#done.resolve();
  }
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}`;
}
