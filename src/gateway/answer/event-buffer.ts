import type { LimitEnding } from '../../wire/answer/inspected-events.ts';
import type { AnswerWire } from '../../wire/wire.ts';

/** Up to this size a stream is buffered as received; then only its text is kept. */
const MAX_BUFFERED_BYTES = 256 * 1024;
/** Initial size: room for about sixty events, enough for most streams. Growing costs more than adding. */
const FIRST_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * The last events of a stream as received, and the text of all events. Copies the events: a reference to each chunk
 * would keep several objects alive past the young generation, which costs more than copying the bytes.
 */
export class EventBuffer {
  #store: Buffer = NOTHING;
  #bytes = 0;
  /** Start of the run of events that was added last. */
  #last = 0;
  /** The text of all bytes before this offset is in `#text`. */
  #textEnd = 0;
  #text: string[] = [];
  /** The last events that are no longer buffered. */
  #lastDropped: Buffer = NOTHING;
  /** The first bytes, once they are no longer buffered. */
  #firstDropped: Buffer = NOTHING;
  #ending: LimitEnding | undefined;
  readonly #wire: AnswerWire;
  readonly #mayStop: boolean;

  /** `mayStop`: the stream may be stopped at its output limit and then needs an ending. */
  constructor(wire: AnswerWire, mayStop: boolean) {
    this.#wire = wire;
    this.#mayStop = mayStop;
  }

  add(events: Buffer): void {
    const end = this.#bytes + events.length;
    if (end > this.#store.length) this.#grow(end);
    this.#store.set(events, this.#bytes);
    this.#last = this.#bytes;
    this.#bytes = end;
    if (end > MAX_BUFFERED_BYTES) this.#drop();
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#store.length, FIRST_BYTES));
    larger.set(this.all());
    this.#store = larger;
  }

  /** The buffered events. */
  all(): Buffer {
    return this.#store.subarray(0, this.#bytes);
  }

  /** Whether no event was dropped. */
  get #isWhole(): boolean {
    return this.#lastDropped.length === 0;
  }

  /** The first events, the last of them perhaps in part. */
  first(): Buffer {
    return this.#isWhole ? this.all().subarray(0, FIRST_BYTES) : this.#firstDropped;
  }

  /** The last events, at least one. */
  end(): Buffer {
    return this.#isWhole ? this.all() : Buffer.concat([this.#lastDropped, this.all()]);
  }

  /** All generated text. Parses each event once. */
  text(): string {
    this.#takeText();
    if (this.#text.length > 1) this.#text = [this.#text.join('')];
    return this.#text[0] ?? '';
  }

  #takeText(): void {
    if (this.#textEnd === this.#bytes) return;
    this.#text.push(...this.#wire.textOf(this.#store.subarray(this.#textEnd, this.#bytes), true));
    this.#textEnd = this.#bytes;
  }

  /** Ends the stream at its limit, given the events so far; undefined if the API has no such ending. */
  ending(): LimitEnding | undefined {
    this.#ending ??= this.#mayStop ? this.#wire.endAtLimit?.() : undefined;
    this.#ending?.take(this.all());
    return this.#ending;
  }

  /** Empties the buffer. Keeps the events' text, the state of the ending, and the last run of events. */
  #drop(): void {
    this.#takeText();
    this.ending();
    if (this.#isWhole) this.#firstDropped = Buffer.from(this.first());
    this.#lastDropped = Buffer.from(this.#store.subarray(this.#last, this.#bytes));
    this.#store = NOTHING;
    this.#bytes = 0;
    this.#last = 0;
    this.#textEnd = 0;
  }
}
