import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Head, headBytes, headerOf, readBody, readHead } from './http-message.ts';
import { Inbox, PeerGone } from './inbox.ts';

export interface RequestParts {
  method?: string;
  path?: string;
  /** Sent in this order after `host`; `content-length` is added where no framing is given. */
  headers?: Record<string, string>;
  /** A value that is not a string or bytes is sent as JSON. */
  body?: unknown;
}

export interface RawResponse {
  status: number;
  head: Head;
  header(name: string): string | undefined;
  /** The body's bytes, free of `transfer-encoding`. */
  body: Buffer;
  /** Whether the body came to the end that its framing promised. */
  complete: boolean;
  text(): string;
  json(): unknown;
}

/** The bytes of a request as a plain client writes it. */
export function requestBytes(url: string, parts: RequestParts = {}): Buffer {
  const { host, pathname, search } = new URL(url);
  const { method = 'POST', path = pathname + search, body } = parts;
  const isBytes = typeof body === 'string' || Buffer.isBuffer(body);
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(isBytes ? body : JSON.stringify(body));
  const headers: Record<string, string> = { host, ...parts.headers };
  if (body !== undefined && !isBytes) headers['content-type'] ??= 'application/json';
  if (method !== 'GET' && !headers['transfer-encoding']) headers['content-length'] ??= String(bytes.length);
  return Buffer.concat([headBytes(`${method} ${path} HTTP/1.1`, headers), bytes]);
}

/** Sends one request on a connection of its own and reads the answer. */
export async function request(url: string, parts: RequestParts = {}): Promise<RawResponse> {
  const connection = await openConnection(url);
  await connection.send(requestBytes(url, parts));
  const response = await connection.response();
  connection.hangUp();
  return response;
}

/** Opens a connection on which a test decides every byte that goes out and sees every one that comes in. */
export async function openConnection(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  return new RawConnection(socket);
}

export class RawConnection {
  /** Resolves when the connection is closed, by whichever side. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #inbox: Inbox;
  #head: Head | undefined;
  #parts: AsyncGenerator<Buffer, void> | undefined;
  /** The body so far. */
  #body: Buffer[] = [];
  #bodyBytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#inbox = new Inbox(socket);
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  send(bytes: Buffer | string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Sends one byte a write. */
  async sendByteByByte(bytes: Buffer): Promise<void> {
    for (const byte of bytes) await this.send(Buffer.from([byte]));
  }

  /** The head of the answer; interim ones (1xx) are passed over. */
  async head(): Promise<Head> {
    while (!this.#head) {
      const head = await readHead(this.#inbox);
      if (statusOf(head) < 200) continue;
      this.#head = head;
      this.#body = [];
      this.#bodyBytes = 0;
      this.#parts = readBody(this.#inbox, head, hasNoBody(head) ? 'empty' : 'until close');
    }
    return this.#head;
  }

  /** The body so far, as soon as it holds the text or so many bytes; throws when it ends before. */
  async bodyUntil(wanted: string | number): Promise<Buffer> {
    const holds = () =>
      typeof wanted === 'number' ? this.#bodyBytes >= wanted : this.#joined().includes(wanted);
    while (!holds()) {
      if (!(await this.#readPart()))
        throw new PeerGone(`the body ended without ${wanted}: ${this.#joined()}`);
    }
    return this.#joined();
  }

  /** The whole answer, or what came of it before the connection was closed. */
  async response(): Promise<RawResponse> {
    const head = await this.head();
    const complete = await this.#readRest();
    const body = this.#joined();
    this.#head = undefined;
    return {
      status: statusOf(head),
      head,
      header: (name) => headerOf(head, name),
      body,
      complete,
      text: () => body.toString(),
      json: () => JSON.parse(body.toString()),
    };
  }

  /** Stops reading, so that the peer's writes pile up, until `resume`. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Breaks the connection off (RST), as a client that is killed does. */
  hangUp(): void {
    // Node can't reset a connection that the peer has ended, and would keep its descriptor.
    if (this.#socket.readableEnded) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  /** Ends the sending side in order (FIN). */
  end(): void {
    this.#socket.end();
  }

  async #readRest(): Promise<boolean> {
    try {
      while (await this.#readPart());
      return true;
    } catch (error) {
      if (error instanceof PeerGone) return false;
      throw error;
    }
  }

  async #readPart(): Promise<boolean> {
    await this.head();
    const part = await this.#parts?.next();
    if (!part?.value) return false;
    this.#body.push(part.value);
    this.#bodyBytes += part.value.length;
    return true;
  }

  #joined(): Buffer {
    const body = Buffer.concat(this.#body);
    this.#body = [body];
    return body;
  }
}

function statusOf(head: Head): number {
  return Number(head.firstLine.split(' ')[1]);
}

function hasNoBody(head: Head): boolean {
  const status = statusOf(head);
  return status === 204 || status === 304;
}
