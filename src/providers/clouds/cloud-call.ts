import type { Dispatcher } from 'undici';
import { messageOf } from '../../errors.ts';
import { ConnectError } from '../../network/connect-error.ts';
import { withoutHeaders } from '../../raw-headers.ts';
import { createRedactor } from '../../redact.ts';
import type { Cloud, CloudRequest, FrameReader } from './cloud.ts';
import { cloudError, readCloudError } from './cloud-error.ts';

/** A handler with the methods that gw uses, called by undici's parser. */
type Handler = Required<
  Pick<Dispatcher.DispatchHandler, 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'>
>;

/** The only method of a dispatcher that gw calls on the request path. */
export type Dispatching = Pick<Dispatcher, 'dispatch'>;

/** Sends requests in a cloud's envelope. Callers see the API inside it, requests, answers and errors alike. */
export function throughCloud(cloud: Cloud, inner: Dispatching, origin: string): Dispatching {
  return {
    dispatch({ path, method, headers, body }, handler) {
      const request: CloudRequest = {
        method,
        origin,
        path,
        // gw's own requests have nothing else.
        headers: headers as string[],
        body: body as Buffer | null,
      };
      const plain = cloud.betas?.withoutRefused(request) ?? request;
      new CloudCall(cloud, inner, plain, handler as Handler).send();
      return true;
    },
  };
}

/** Longer errors are cut. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Headers with credentials. */
const SECRET = new Set(['authorization', 'x-amz-security-token']);
/** What is secret in the header of a signature, whose other words are in many sentences. */
const SIGNED_PARTS = /(?<=\b(?:Credential|Signature)=)[^,/]+/g;
const EVENT_STREAM = 'application/vnd.amazon.eventstream';

/** A call, with another try if the cloud says that the credentials have expired, or refuses betas. */
class CloudCall implements Handler {
  readonly #cloud: Cloud;
  readonly #inner: Dispatching;
  readonly #handler: Handler;
  /** Before it is put into the envelope. */
  #plain: CloudRequest;
  #request: CloudRequest;
  #signed: string[] = [];
  #isConnected = false;
  #isAborted = false;
  #abort: (error?: Error) => void = () => {};
  #isRetried = false;
  /** An error answer, gathered. */
  #error: { status: number; headers: Buffer[]; chunks: Buffer[]; bytes: number } | undefined;
  #frames: FrameReader | undefined;
  #isFramed = false;

  constructor(cloud: Cloud, inner: Dispatching, plain: CloudRequest, handler: Handler) {
    this.#cloud = cloud;
    this.#inner = inner;
    this.#handler = handler;
    this.#plain = plain;
    this.#request = cloud.wrap?.(plain) ?? plain;
  }

  send(): void {
    const { signer, openFrames } = this.#cloud;
    if (signer || openFrames) void this.#prepare().then((isReady) => isReady && this.#dispatch());
    else this.#dispatch();
  }

  async #prepare(): Promise<boolean> {
    try {
      const { signer, openFrames } = this.#cloud;
      this.#signed = (await signer?.sign(this.#request)) ?? [];
      this.#frames = await openFrames?.();
      return true;
    } catch (error) {
      const why = new ConnectError(messageOf(error), 'CREDENTIALS', error);
      if (this.#error) this.#deliverError(why.message);
      else this.#handler.onError(why);
      return false;
    }
  }

  #dispatch(): void {
    const { path, method, headers, body } = this.#request;
    this.#error = undefined;
    const signed = new Set(this.#signed.filter((_, i) => i % 2 === 0));
    this.#inner.dispatch(
      {
        path,
        method: method as Dispatcher.HttpMethod,
        headers: [...withoutHeaders(headers, signed), ...this.#signed],
        body,
      },
      this,
    );
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#isAborted) abort();
    if (this.#isConnected) return;
    this.#isConnected = true;
    this.#handler.onConnect((error) => {
      this.#isAborted = true;
      this.#abort(error);
    });
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, text: string): boolean {
    if (status >= 400) {
      this.#error = { status, headers, chunks: [], bytes: 0 };
      return true;
    }
    this.#isFramed = this.#frames !== undefined && isEventStream(headers);
    const shown = this.#isFramed ? withType(headers, 'text/event-stream; charset=utf-8') : headers;
    return this.#handler.onHeaders(status, shown, resume, text);
  }

  onData(chunk: Buffer): boolean {
    const error = this.#error;
    if (error) {
      if (error.bytes < MAX_ERROR_BYTES) error.chunks.push(Buffer.from(chunk));
      error.bytes += chunk.length;
      return true;
    }
    if (!this.#frames || !this.#isFramed) return this.#handler.onData(chunk);
    try {
      const events = this.#frames.read(chunk);
      return events.length === 0 || this.#handler.onData(events);
    } catch (cause) {
      this.#abort(new Error(`unreadable frame: ${messageOf(cause)}`, { cause }));
      return false;
    }
  }

  onComplete(trailers: string[] | null): void {
    const error = this.#error;
    if (!error) this.#handler.onComplete(trailers);
    else if (!this.#isAborted && this.#mends(error.status, Buffer.concat(error.chunks).toString('utf8')))
      this.send();
    else this.#deliverError(undefined);
  }

  /** Whether the request is worth another try. */
  #mends(status: number, body: string): boolean {
    const { signer, betas, wrap } = this.#cloud;
    const lighter = betas?.afterRefusal(status, body, this.#plain);
    if (lighter) {
      this.#plain = lighter;
      this.#request = wrap?.(lighter) ?? lighter;
      return true;
    }
    if (this.#isRetried || signer?.hasExpired(status, body, this.#signed) !== true) return false;
    this.#isRetried = true;
    return true;
  }

  /** The error in the words of the cloud's API, without the credentials that it may quote. */
  #deliverError(remedy: string | undefined): void {
    const { status, headers, chunks } = this.#error ?? { status: 502, headers: [], chunks: [] };
    const { wire } = this.#cloud;
    const received = Buffer.concat(chunks);
    const error = readCloudError(received.toString('utf8'), headers, wire);
    const isOurs = (error !== undefined && wire !== 'gemini') || remedy !== undefined;
    const body = isOurs ? Buffer.from(this.#redact(cloudError(wire, status, error, remedy))) : received;
    const shown = isOurs ? withType(headers, 'application/json') : headers;
    this.#handler.onHeaders(status, shown, () => {}, '');
    if (body.length > 0) this.#handler.onData(body);
    this.#handler.onComplete(null);
  }

  /** AWS quotes what it was sent, the session's token included. */
  #redact(text: string): string {
    const secrets = this.#signed.filter((_, i) => SECRET.has(this.#signed[i - 1] ?? ''));
    return createRedactor(secrets.flatMap((secret) => secret.match(SIGNED_PARTS) ?? secret)).redact(text);
  }

  onError(error: Error): void {
    this.#handler.onError(error);
  }
}

const nameOf = (headers: readonly Buffer[], at: number): string =>
  headers[at]?.toString('latin1').toLowerCase() ?? '';

function isEventStream(headers: readonly Buffer[]): boolean {
  return headers.some(
    (value, i) =>
      i % 2 === 1 &&
      nameOf(headers, i - 1) === 'content-type' &&
      value.toString('latin1').startsWith(EVENT_STREAM),
  );
}

/** The headers with another content type, and without the length, which has changed. */
function withType(headers: readonly Buffer[], type: string): Buffer[] {
  const others = headers.filter(
    (_, i) => !/^content-(type|length|encoding)$/.test(nameOf(headers, i - (i % 2))),
  );
  return [...others, Buffer.from('content-type'), Buffer.from(type)];
}
