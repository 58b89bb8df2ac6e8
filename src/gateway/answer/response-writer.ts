import type { Exchange } from '../context/exchange.ts';

/** As text, a chunk and its frame go out in one write; latin1 keeps every byte. More would be copied for too long. */
const MAX_ONE_WRITE_BYTES = 16 * 1024;
const CRLF = '\r\n';
const LAST_CHUNK = `0${CRLF}${CRLF}`;

/**
 * The body of an answer on its way to a client, who may read slowly or not at all. It frames the chunks of HTTP/1.1
 * itself, each in one write: node makes four of each and gathers them again, a tenth of what a chunk costs.
 * https://www.rfc-editor.org/rfc/rfc9112#section-7.1
 */
export class ResponseWriter {
  #chunked = false;
  readonly #exchange: Exchange;
  readonly #idleMs: number;

  /** A client that reads nothing for `idleMs` of what waits for it is cut off. */
  constructor(exchange: Exchange, idleMs: number) {
    this.#exchange = exchange;
    this.#idleMs = idleMs;
  }

  /** Writes the head; what follows is cut into chunks unless the headers tell its length. */
  head(status: number, headers: string[]): void {
    const { response } = this.#exchange;
    response.writeHead(status, headers);
    this.#chunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  /** False asks for a pause, until `resume`. */
  write(bytes: Buffer, resume: () => void): boolean {
    const { response } = this.#exchange;
    if (this.#send(bytes)) return true;
    this.#expectReader();
    response.once('drain', () => {
      response.setTimeout(0);
      resume();
    });
    return false;
  }

  #send(bytes: Buffer): boolean {
    const { response } = this.#exchange;
    // A chunk of nothing would be the last.
    if (bytes.length === 0) return true;
    if (!this.#chunked) return response.write(bytes);
    if (bytes.length <= MAX_ONE_WRITE_BYTES) return response.write(chunkOf(bytes), 'latin1');
    response.write(sizeOf(bytes), 'latin1');
    response.write(bytes);
    return response.write(CRLF, 'latin1');
  }

  /** Sends the last words and ends the answer. */
  end(bytes: Buffer): void {
    const { response } = this.#exchange;
    if (this.#chunked) {
      const isShort = bytes.length > 0 && bytes.length <= MAX_ONE_WRITE_BYTES;
      if (!isShort) this.#send(bytes);
      response.end(isShort ? chunkOf(bytes) + LAST_CHUNK : LAST_CHUNK, 'latin1');
    } else if (bytes.length <= MAX_ONE_WRITE_BYTES) response.end(bytes.toString('latin1'), 'latin1');
    else response.end(bytes);
    if (response.writableLength > 0) this.#expectReader();
  }

  /** Sends the last words, and closes behind them: without its last chunk the answer shows that it is not whole. */
  breakOff(bytes: Buffer): void {
    this.#send(bytes);
    this.#exchange.response.socket?.destroySoon();
  }

  /** One who never reads would keep its request running, and what is held for it, for ever. */
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
