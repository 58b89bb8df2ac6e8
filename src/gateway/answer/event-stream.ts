import { redactKeys } from '../../redact.ts';
import { createEventFramer, withoutMark } from '../../sse/frame.ts';
import type { Translator } from '../../translation/translate.ts';
import type { TokenUsage } from '../../usage.ts';
import {
  errorEvent,
  type InspectedEvents,
  type LimitEnding,
  type StreamFault,
} from '../../wire/answer/inspected-events.ts';
import { addUsage } from '../../wire/answer/usage.ts';
import type { AnswerWire } from '../../wire/wire.ts';
import { type Answer, AnswerReceiver, NOTHING, redactBytes, writeHead } from './answer-receiver.ts';

/** A stream that is held back is let through at this size, even without content. */
const MAX_HELD_BYTES = 64 * 1024;

/** The time without an event after which an answer is begun, and that between signs of life. */
const SOON_MS = 1_000;
const SIGN_MS = 15_000;

const hasText = (wire: AnswerWire, events: Buffer): boolean =>
  wire.textOf(events, true).some((text) => text !== '');

/** Passes a stream on event by event. The closing event waits for `finish`, when the record is committed. */
export class EventStream extends AnswerReceiver {
  override readonly isStream = true;
  readonly #framer = createEventFramer();
  readonly #events: EventBuffer;
  #size = 0;
  /** The events received while the stream is held back; undefined once it has started. */
  #heldBack: Buffer[] | undefined;
  /** The bytes that `finish` sends, from the closing event on; undefined until that arrives. */
  #last: Buffer[] | undefined;
  #closingEvent: Buffer = NOTHING;
  #hasBegun = false;
  /** Bytes that wait until the ids in them are on disk. */
  #withheld: Buffer[] = [];
  #unwritten = 0;
  /** A byte order mark that is still to be passed on. */
  #mark: Buffer = NOTHING;

  /** Something has gone out since the last look. */
  #isAlive = false;
  #cancelWatch: (() => void) | undefined;

  constructor(answer: Answer) {
    super(answer);
    const { wire, mayStop, holdsBack, translator } = answer.options;
    this.#events = new EventBuffer(wire, mayStop);
    if (holdsBack) this.#heldBack = [];
    else writeHead(answer, true);
    if (translator) this.#watch(translator, SOON_MS);
  }

  /** Gives a client signs of life while the provider is silent, or what it sends has no form in the client's API. */
  #watch(translator: Translator, afterMs: number): void {
    const { options } = this.answer;
    this.#cancelWatch = options.after(afterMs, () => {
      if (this.#last || options.exchange.gone) return;
      if (!this.#isAlive && this.started) this.#write(translator.sign());
      this.#isAlive = false;
      this.#watch(translator, SIGN_MS);
    });
  }

  get started(): boolean {
    return this.#heldBack === undefined;
  }

  data(chunk: Buffer): boolean {
    const events = this.#framer.push(chunk);
    if (this.#last) this.#takeSurplus(this.#last, chunk, events);
    if (this.#last || events.length === 0) return true;
    return this.#heldBack ? this.#holdBack(events, this.#heldBack) : this.#pass(events);
  }

  #pass(events: Buffer): boolean {
    const { pass, closing } = this.#inspect(events);
    this.answer.observer.onEvents(this.#size);
    const out = this.#forClient(pass);
    const more = out.length === 0 || this.#write(out);
    if (closing) this.#close(closing);
    return more;
  }

  /** Nothing goes out before the first content, so that another target can answer after an error or an early end. */
  #holdBack(events: Buffer, heldBack: Buffer[]): boolean {
    const { pass, closing } = this.#inspect(events);
    heldBack.push(this.#forClient(pass));
    if (this.#hasContent(events) || this.#size > MAX_HELD_BYTES) this.#release(heldBack);
    if (closing) this.#close(closing);
    else if (!this.started && this.streamError !== undefined) {
      this.answer.observer.onClosed();
      this.answer.observer.onSurplus();
    }
    return true;
  }

  #hasContent(events: Buffer): boolean {
    return this.answer.options.wire.hasContent?.(events) !== false;
  }

  #release(heldBack: Buffer[]): void {
    this.#heldBack = undefined;
    writeHead(this.answer, true);
    this.#write(Buffer.concat(heldBack));
    this.answer.observer.onContent();
  }

  #close(closing: Buffer): void {
    this.#closingEvent = closing;
    this.#last = [this.#forClient(closing)];
    if (!this.answer.options.translator) this.#last.push(this.#framer.rest());
    if (this.#isMetered) this.answer.observer.onClosed();
    else this.answer.observer.onClosedEarly();
  }

  /** Bytes after the closing event are passed on until the response ends, and then dropped. Some hosts report usage there. */
  #takeSurplus(last: Buffer[], chunk: Buffer, events: Buffer): void {
    if (!this.#isMetered && events.length > 0) {
      this.#takeUsage(this.answer.options.wire.inspect(events, false));
      if (this.#isMetered) this.answer.observer.onClosed();
    }
    if (!this.started) return;
    const { exchange, translator } = this.answer.options;
    if (exchange.gone || exchange.response.writableEnded) this.answer.observer.onSurplus();
    else if (!translator) last.push(chunk);
  }

  #inspect(events: Buffer): InspectedEvents {
    const { wire, hideUsage, takeEvents } = this.answer.options;
    const text = this.#withoutMark(events);
    const written = takeEvents?.(text);
    if (written) this.#withholdUntil(written);
    const inspected = this.#withoutSecrets(wire.inspect(text, hideUsage));
    this.#takeUsage(inspected);
    // A total that text follows is none.
    if (inspected.usage === undefined && this.usageIs === 'so far' && hasText(wire, events))
      this.usageIs = 'opening';
    if (inspected.error !== undefined) this.streamError = inspected.error;
    this.#events.add(inspected.pass);
    this.#size += inspected.pass.length;
    if (inspected.toolResults) this.#takeToolResults(inspected.toolResults);
    return inspected;
  }

  #takeToolResults(count: number): void {
    this.toolResults.count += count;
    this.toolResults.bytes += count * this.#size;
    this.answer.observer.onToolResults(this.toolResults);
  }

  /** An error may quote the credential that the provider was sent. */
  #withoutSecrets(inspected: InspectedEvents): InspectedEvents {
    const { error, pass, closing } = inspected;
    if (error === undefined) return inspected;
    const { redact } = this.answer.options;
    const clean = { ...inspected, error: redactKeys(redact(error)), pass: redactBytes(pass, redact) };
    return closing ? { ...clean, closing: redactBytes(closing, redact) } : clean;
  }

  #takeUsage({ usage, usageIs }: InspectedEvents): void {
    if (usage === undefined) return;
    this.usage = addUsage(this.usage, usage, this.usageIs === 'opening');
    this.usageIs = usageIs;
  }

  /** Whether the final usage has come. */
  get #isMetered(): boolean {
    return this.usage !== undefined && this.usageIs === undefined;
  }

  /** A stream may begin with a byte order mark, which clients skip. */
  #withoutMark(events: Buffer): Buffer {
    if (this.#hasBegun) return events;
    this.#hasBegun = true;
    const text = withoutMark(events);
    this.#mark = events.subarray(0, events.length - text.length);
    return text;
  }

  /** The events for the client: translated, or the same bytes if it speaks the provider's API. */
  #forClient(events: Buffer): Buffer {
    const { translator } = this.answer.options;
    if (translator) return translator.events(events);
    if (this.#mark.length === 0) return events;
    const marked = Buffer.concat([this.#mark, events]);
    this.#mark = NOTHING;
    return marked;
  }

  #write(bytes: Buffer): boolean {
    this.#isAlive = true;
    if (this.#unwritten === 0) return this.answer.client.write(bytes, this.answer.resume);
    this.#withheld.push(bytes);
    return false;
  }

  /** A client that has the id of an object before its owner is on disk could lose it to another project by a crash. */
  #withholdUntil(written: Promise<void>): void {
    this.#unwritten++;
    void written.then(() => {
      if (--this.#unwritten > 0) return;
      const bytes = Buffer.concat(this.#withheld);
      this.#withheld = [];
      if (this.#write(bytes)) this.answer.resume();
    });
  }

  /** Reads a last event that lacks the empty line at its end. */
  readEnd(): void {
    const rest = this.#framer.rest();
    if (rest.length === 0) return;
    if (this.#last) {
      if (!this.#isMetered) this.#takeUsage(this.answer.options.wire.inspect(rest, false));
      return;
    }
    const { pass, closing } = this.#inspect(rest);
    if (this.#heldBack && this.#hasContent(rest)) this.#release(this.#heldBack);
    if (closing) this.#closingEvent = closing;
    this.#last = [this.#forClient(pass), ...(closing ? [this.#forClient(closing)] : [])];
  }

  finish(): void {
    this.#cancelWatch?.();
    const { translator } = this.answer.options;
    const last = [...(this.#last ?? []), ...(translator ? [translator.end()] : [])];
    this.answer.client.end(last.length === 1 ? (last[0] ?? NOTHING) : Buffer.concat(last));
  }

  override finishAtLimit(usage: TokenUsage): void {
    this.#cancelWatch?.();
    const ending = this.#events.ending();
    const { hideUsage } = this.answer.options;
    if (ending) this.answer.client.end(this.#forClient(ending.end(hideUsage ? undefined : usage)));
    else this.breakOff();
  }

  /** Sends the error as an event, but not in the middle of an event that the client has partly received. */
  override breakOff(fault?: StreamFault): void {
    this.#cancelWatch?.();
    const { wire, translator } = this.answer.options;
    const rest = this.#framer.rest();
    if (rest.length > 0 && !translator) this.answer.client.breakOff(rest);
    else if (fault && this.started) this.answer.client.breakOff(errorEvent(wire.endpoint, fault));
    else this.answer.client.breakOff(NOTHING);
  }

  override get closingEvent(): Buffer {
    return this.#closingEvent;
  }

  override get isCutShort(): boolean {
    if (!this.started || this.#closingEvent.length > 0 || this.streamError !== undefined) return false;
    const { wire } = this.answer.options;
    if (wire.isOver === undefined || (this.usage !== undefined && this.usageIs === undefined)) return false;
    return !wire.isOver(this.#events.end());
  }

  override get unsent(): Buffer | undefined {
    return this.started ? undefined : Buffer.concat([this.#events.all(), this.#closingEvent]);
  }

  override get firstEvents(): Buffer {
    return this.#events.first();
  }

  override get lastEvents(): Buffer {
    return Buffer.concat([this.#events.end(), this.#closingEvent]);
  }

  override get isReadable(): boolean {
    return true;
  }

  override get unended(): string {
    return this.#last ? '' : this.#framer.rest().toString('utf8');
  }

  override receivedText(): string[] {
    const text = this.#events.text();
    // The closing event of a response has all of it, for hosts that send no deltas.
    return text === '' && this.#closingEvent.length > 0
      ? this.answer.options.wire.textOf(this.#closingEvent, true)
      : [text];
  }
}

/** Up to this size a stream is buffered as received; then only its text is kept. */
const MAX_BUFFERED_BYTES = 256 * 1024;
/** Initial size: room for about sixty events, enough for most streams. Growing costs more than adding. */
const FIRST_BYTES = 16 * 1024;
/**
 * The last events of a stream as received, and the text of all events. Copies the events: a reference to each chunk
 * would keep several objects alive past the young generation, which costs more than copying the bytes.
 */
class EventBuffer {
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
