import type { LimitEnding, Wire } from './wire/wire.ts';

/** How much of a stream is kept as it came before its text is taken out. */
const MAX_KEPT_BYTES = 256 * 1024;

/** The events of a stream as they came, by reference, as far back as somebody may ask for them; then their text. */
export class KeptEvents {
  #events: Buffer[] = [];
  #bytes = 0;
  /** Of how many of them the text was taken. */
  #taken = 0;
  #text: string[] = [];
  /** The last that are kept no more. */
  #lastDropped: Buffer = Buffer.alloc(0);
  #ending: LimitEnding | undefined;
  readonly #wire: Wire;
  readonly #isWatched: () => boolean;

  /** Only a stream that is watched has a limit at which it may have to end. */
  constructor(wire: Wire, isWatched: () => boolean) {
    this.#wire = wire;
    this.#isWatched = isWatched;
  }

  add(events: Buffer): void {
    this.#events.push(events);
    this.#bytes += events.length;
    if (this.#bytes > MAX_KEPT_BYTES) this.#drop();
  }

  /** Those that are kept. */
  all(): Buffer {
    return Buffer.concat(this.#events);
  }

  /** Whether all that came is kept. */
  get isWhole(): boolean {
    return this.#lastDropped.length === 0;
  }

  /** The last of them, and at least one. */
  end(): Buffer {
    return Buffer.concat([this.#lastDropped, ...this.#events]);
  }

  /** All that was generated; each event is parsed for it once. */
  text(): string {
    if (this.#taken < this.#events.length) {
      const events = this.#taken === 0 ? this.#events : this.#events.slice(this.#taken);
      this.#text.push(...this.#wire.textOf(Buffer.concat(events), true));
      this.#taken = this.#events.length;
    }
    if (this.#text.length > 1) this.#text = [this.#text.join('')];
    return this.#text[0] ?? '';
  }

  /** How the stream can end at its limit after all that went out; undefined where its wire knows no way. */
  ending(): LimitEnding | undefined {
    this.#ending ??= this.#isWatched() ? this.#wire.endAtLimit?.() : undefined;
    this.#ending?.take(this.all());
    return this.#ending;
  }

  /** Keeps no more of them than their text, and what the stream's ending has to know. */
  #drop(): void {
    this.text();
    this.ending();
    this.#lastDropped = this.#events.at(-1) ?? this.#lastDropped;
    this.#events = [];
    this.#bytes = 0;
    this.#taken = 0;
  }
}
