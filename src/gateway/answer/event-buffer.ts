import type { LimitEnding } from '../../wire/answer/inspected-events.ts';
import type { Wire } from '../../wire/wire.ts';

/** How much of a stream is kept as it came before its text is taken out. */
const MAX_KEPT_BYTES = 256 * 1024;
/** Room for some sixty events, as most streams have: to grow costs more than to add. */
const FIRST_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);

/**
 * The events of a stream as they came, as far back as somebody may ask for them; then their text. They are copied:
 * kept by reference, each is a handful of objects that outlive the young garbage, which costs more than its bytes.
 */
export class EventBuffer {
  #store: Buffer = NOTHING;
  #bytes = 0;
  /** Where the last run of events begins. */
  #last = 0;
  /** Up to where the text was taken. */
  #taken = 0;
  #text: string[] = [];
  /** The last that are kept no more. */
  #lastDropped: Buffer = NOTHING;
  #ending: LimitEnding | undefined;
  readonly #wire: Wire;
  readonly #isWatched: () => boolean;

  /** Only a stream that is watched has a limit at which it may have to end. */
  constructor(wire: Wire, isWatched: () => boolean) {
    this.#wire = wire;
    this.#isWatched = isWatched;
  }

  add(events: Buffer): void {
    const end = this.#bytes + events.length;
    if (end > this.#store.length) this.#grow(end);
    this.#store.set(events, this.#bytes);
    this.#last = this.#bytes;
    this.#bytes = end;
    if (end > MAX_KEPT_BYTES) this.#drop();
  }

  #grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, 2 * this.#store.length, FIRST_BYTES));
    larger.set(this.all());
    this.#store = larger;
  }

  /** Those that are kept. */
  all(): Buffer {
    return this.#store.subarray(0, this.#bytes);
  }

  /** Whether all that came is kept. */
  get isWhole(): boolean {
    return this.#lastDropped.length === 0;
  }

  /** The last of them, and at least one. */
  end(): Buffer {
    return this.isWhole ? this.all() : Buffer.concat([this.#lastDropped, this.all()]);
  }

  /** All that was generated; each event is parsed for it once. */
  text(): string {
    this.#takeText();
    if (this.#text.length > 1) this.#text = [this.#text.join('')];
    return this.#text[0] ?? '';
  }

  #takeText(): void {
    if (this.#taken === this.#bytes) return;
    this.#text.push(...this.#wire.textOf(this.#store.subarray(this.#taken, this.#bytes), true));
    this.#taken = this.#bytes;
  }

  /** How the stream can end at its limit after all that went out; undefined where its wire knows no way. */
  ending(): LimitEnding | undefined {
    this.#ending ??= this.#isWatched() ? this.#wire.endAtLimit?.() : undefined;
    this.#ending?.take(this.all());
    return this.#ending;
  }

  /** Keeps no more of them than their text, and what the stream's ending has to know. */
  #drop(): void {
    this.#takeText();
    this.ending();
    this.#lastDropped = Buffer.from(this.#store.subarray(this.#last, this.#bytes));
    this.#store = NOTHING;
    this.#bytes = 0;
    this.#last = 0;
    this.#taken = 0;
  }
}
