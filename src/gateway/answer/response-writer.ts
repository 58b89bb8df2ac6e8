import { withoutHeaders } from '../../raw-headers.ts';
import type { Envelope, Exchange } from '../context/exchange.ts';

/** Up to this size a chunk and its frame are joined as latin1 text, which keeps every byte, and sent in one write. */
const MAX_ONE_WRITE_BYTES = 16 * 1024;
const CRLF = '\r\n';
const LENGTH = new Set(['content-length']);
const LAST_CHUNK = `0${CRLF}${CRLF}`;

/**
 * Writes an answer to a client, which may read slowly or not at all; drops bytes after it has hung up. Frames the chunks
 * of HTTP/1.1 itself, in one write each: Node makes four writes and joins them again, which is a tenth of a chunk's cost.
 * https://www.rfc-editor.org/rfc/rfc9112#section-7.1
 */
export class ResponseWriter {
  #chunked = false;
  /** Rewrites the events of a stream. */
  #events: Envelope | undefined;
  /** Rewrites an answer that ends with its first bytes. */
  #rewrite: Envelope['events'] | undefined;
  readonly #exchange: Exchange;
  readonly #idleMs: number;

  /** A client that reads nothing for `idleMs` while bytes wait for it is cut off. */
  constructor(exchange: Exchange, idleMs: number) {
    this.#exchange = exchange;
    this.#idleMs = idleMs;
  }

  /** Writes the head. The body is chunked unless the headers state its length. */
  head(status: number, headers: string[]): void {
    const { response, gone, sent, envelope } = this.#exchange;
    sent?.head(status, headers);
    if (gone) return;
    response.writeHead(status, envelope ? this.#enveloped(envelope, status, headers) : headers);
    this.#chunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  /** The headers of an answer in an envelope, whose length is another. */
  #enveloped(envelope: Envelope, status: number, headers: string[]): string[] {
    const at = headers.indexOf('content-type') + 1;
    if (headers[at]?.startsWith('text/event-stream')) {
      this.#events = envelope;
      return headers.with(at, envelope.streamType);
    }
    this.#rewrite = (body) => envelope.whole(body, status);
    return withoutHeaders(headers, LENGTH);
  }

  /** Returns false if the client is behind; `resume` is called when it has caught up. */
  write(bytes: Buffer, resume: () => void): boolean {
    const { response, sent } = this.#exchange;
    sent?.add(bytes);
    if (this.#send(this.#events?.events(bytes) ?? bytes)) return true;
    this.#expectReader();
    response.once('drain', () => {
      response.setTimeout(0);
      resume();
    });
    return false;
  }

  #send(bytes: Buffer): boolean {
    const { response, gone } = this.#exchange;
    // An empty chunk would end the body.
    if (bytes.length === 0 || gone) return true;
    if (!this.#chunked) return response.write(bytes);
    if (bytes.length <= MAX_ONE_WRITE_BYTES) return response.write(chunkOf(bytes), 'latin1');
    response.write(sizeOf(bytes), 'latin1');
    response.write(bytes);
    return response.write(CRLF, 'latin1');
  }

  /** Sends the last bytes and ends the answer. */
  end(last: Buffer): void {
    const { response, sent } = this.#exchange;
    if (sent) {
      sent.add(last);
      sent.end();
    }
    const bytes = this.#lastOf(last);
    if (this.#chunked) {
      const isShort = bytes.length > 0 && bytes.length <= MAX_ONE_WRITE_BYTES;
      if (!isShort) this.#send(bytes);
      response.end(isShort ? chunkOf(bytes) + LAST_CHUNK : LAST_CHUNK, 'latin1');
    } else if (bytes.length <= MAX_ONE_WRITE_BYTES) response.end(bytes.toString('latin1'), 'latin1');
    else response.end(bytes);
    if (response.writableLength > 0) this.#expectReader();
  }

  #lastOf(bytes: Buffer): Buffer {
    const envelope = this.#events;
    if (!envelope) return this.#rewrite?.(bytes) ?? bytes;
    const events = envelope.events(bytes);
    return envelope.end ? Buffer.concat([events, envelope.end()]) : events;
  }

  /** Sends the last bytes and closes the connection. Without a last chunk the answer is visibly incomplete. */
  breakOff(bytes: Buffer): void {
    this.#send(this.#events?.events(bytes) ?? bytes);
    this.#exchange.response.socket?.destroySoon();
  }

  /** Sets the idle timeout: a client that never reads would keep its request and hold open forever. */
  #expectReader(): void {
    const { response } = this.#exchange;
    if (response.listenerCount('timeout') === 0) response.on('timeout', () => response.destroy());
    response.setTimeout(this.#idleMs);
  }
}

function chunkOf(bytes: Buffer): string {
  return sizeOf(bytes) + bytes.toString('latin1') + CRLF;
}

function sizeOf(bytes: Buffer): string {
  return bytes.length.toString(16) + CRLF;
}
