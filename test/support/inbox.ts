import type { Socket } from 'node:net';

/** Thrown by whoever waits for, or writes to, a peer that has closed the connection. */
export class PeerGone extends Error {}

/** The bytes that a socket brings, for one reader who awaits them by count or up to a delimiter. */
export class Inbox {
  #parts: Buffer[] = [];
  #length = 0;
  #ended = false;
  #wake = () => {};

  constructor(socket: Socket) {
    socket.on('data', (bytes: Buffer) => {
      this.#parts.push(bytes);
      this.#length += bytes.length;
      this.#wake();
    });
    const end = () => {
      this.#ended = true;
      this.#wake();
    };
    // A reset reports an error and then closes; the close is all that a reader needs to know.
    socket.on('error', () => {});
    socket.on('end', end);
    socket.on('close', end);
  }

  /** Exactly `count` bytes; throws when the peer ends before. */
  async take(count: number): Promise<Buffer> {
    while (this.#length < count) await this.#more();
    return this.#split(count);
  }

  /** At least one byte and at most `count`; empty when the peer has ended. */
  async takeSome(count: number): Promise<Buffer> {
    while (this.#length === 0 && !this.#ended) await this.#more();
    return this.#split(Math.min(count, this.#length));
  }

  /** The bytes up to and with the delimiter; throws when the peer ends before. */
  async takeThrough(delimiter: string): Promise<Buffer> {
    for (;;) {
      const at = this.#joined().indexOf(delimiter);
      if (at >= 0) return this.#split(at + delimiter.length);
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    if (this.#ended) throw new PeerGone(`the peer ended with ${this.#length} bytes that complete nothing`);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }

  #joined(): Buffer {
    const joined = this.#parts.length === 1 ? this.#parts[0] : undefined;
    if (joined) return joined;
    const all = Buffer.concat(this.#parts);
    this.#parts = [all];
    return all;
  }

  #split(count: number): Buffer {
    const all = this.#joined();
    this.#parts = [all.subarray(count)];
    this.#length -= count;
    return all.subarray(0, count);
  }
}
