import type { KeptAnswer } from '../../store/requests/kept-answers.ts';
import type { SentAnswer } from '../context/exchange.ts';
import type { Found, ReplayKey } from '../state/replays.ts';

/** A longer answer is not kept. */
const MAX_BYTES = 8 * 1024 * 1024;
/** Memory for the copies of all running answers. */
const MAX_ALL_BYTES = 64 * 1024 * 1024;
let allBytes = 0;

/** A copy of what the client is sent, to be kept. */
export class AnswerCopy implements SentAnswer {
  readonly key: ReplayKey;
  headers: readonly string[] = [];
  #status = 0;
  #chunks: Buffer[] = [];
  #size = 0;
  #isWhole = false;
  #isTooLong = false;

  #settle: Found['settle'] | undefined;

  constructor(key: ReplayKey, settle: Found['settle']) {
    this.key = key;
    this.#settle = settle;
  }

  head(status: number, headers: readonly string[]): void {
    this.#status = status;
    this.headers = headers;
  }

  add(bytes: Buffer): void {
    if (this.#isTooLong) return;
    if (this.#size + bytes.length > MAX_BYTES || allBytes + bytes.length > MAX_ALL_BYTES) {
      this.#release();
      this.#isTooLong = true;
      return;
    }
    allBytes += bytes.length;
    this.#size += bytes.length;
    // Events are short parts of large buffers.
    this.#chunks.push(Buffer.from(bytes));
  }

  end(): void {
    this.#isWhole = true;
  }

  /** Undefined unless the client was sent a whole good answer. */
  body(): Buffer | undefined {
    return this.#isWhole && this.#status === 200 && !this.#isTooLong
      ? Buffer.concat(this.#chunks)
      : undefined;
  }

  /** Gives the answer to those that wait for it, or nothing; and forgets it. The first call counts. */
  settle(answer?: KeptAnswer): void {
    this.#settle?.(answer);
    this.#settle = undefined;
    this.#release();
  }

  #release(): void {
    allBytes -= this.#size;
    this.#size = 0;
    this.#chunks = [];
  }
}
