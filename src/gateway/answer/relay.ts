import type { GwError } from '../../errors.ts';
import { createEventFramer, type EventFramer } from '../../sse/frame.ts';
import type { Translator } from '../../translation/translator.ts';
import type { TokenUsage } from '../../usage.ts';
import { addUsage } from '../../wire/answer/add-usage.ts';
import { errorEvent, type StreamFault } from '../../wire/answer/error-event.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { InspectedEvents } from '../../wire/answer/inspected-events.ts';
import type { Wire } from '../../wire/wire.ts';
import type { Exchange } from '../context/exchange.ts';
import { decompressSync } from '../intake/decompress.ts';
import { headerOf, returnedHeaders, translatedHeaders } from '../upstream/headers.ts';
import type { Receiver } from '../upstream/send.ts';
import { EventBuffer } from './event-buffer.ts';
import { ResponseWriter } from './response-writer.ts';
import { TAIL_BYTES, TailBuffer } from './tail-buffer.ts';

/** A larger answer that is no stream is passed on as it comes instead of being gathered. */
const MAX_GATHERED_BYTES = 16 * 1024 * 1024;
/** Sounds and files are used as they come, and hold no usage to wait for. */
const MEDIA = /^(audio|image|video)\/|octet-stream/;
/** A stream that begins with more than this without any content is let through. */
const MAX_HELD_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);
/** Each request has a relay, so what only streams need is made when one begins. */
const NO_EVENTS: EventFramer = { push: (chunk) => chunk, rest: () => NOTHING };
const ignore = () => {};

/** What an answer is relayed with. */
export interface RelayOptions {
  exchange: Exchange;
  wire: Wire;
  /** For a client of another wire. */
  translator?: Translator | undefined;
  /** The client did not ask for the usage of its stream. */
  hideUsage: boolean;
  /** How long the client may read nothing. */
  clientIdleMs: number;
  /** Nothing of a stream goes out before its first content, as another target may have to answer instead. */
  holdsBack?: boolean;
  /** gw's own headers, for when the answer's head goes out. */
  ownHeaders: () => string[];
  /** Monotonic milliseconds. */
  now: () => number;
}

/**
 * Brings a provider's answer to the client. A stream goes out event by event as it comes; any other answer is
 * gathered, so that its record is committed before the client has it. The last words always wait for `finish`.
 */
export class Relay implements Receiver {
  status = 0;
  /** What the provider reported as usage, as it came. */
  usage: unknown;
  usageIs: InspectedEvents['usageIs'];
  /** An error that the provider reported inside a stream. */
  streamError: string | undefined;
  /** What the client is told instead of an answer that it could not read. */
  refusal: GwError | undefined;
  firstByteAt: number | undefined;
  lastByteAt: number | undefined;
  /** Called when a stream's closing event has come: there is nothing more to wait for. */
  onClosed: (end: { kind: 'complete' }) => void = ignore;
  /** Called when nobody hears any more what comes: behind the end of a stream, or of all that is gathered. */
  onLate: () => void = ignore;
  /** More has come than is gathered, of what can only be translated as a whole. */
  isTooLong = false;
  /** Called with the size of the stream so far after each run of events. */
  onEvents: ((streamedBytes: number) => void) | undefined;
  /** Called when the first content of a stream is there. */
  onContent: (() => void) | undefined;
  #mode: 'gather' | 'hold' | 'stream' | 'pass' = 'gather';
  /** What a stream began with, while it is held back. */
  #heldBack: Buffer[] = [];
  #headers: string[] = [];
  #gathered: Buffer[] = [];
  #translated: Buffer | undefined;
  #size = 0;
  #framer = NO_EVENTS;
  #closing: Buffer[] | undefined;
  /** The closing event as it came. */
  #closed: Buffer = NOTHING;
  #kept: EventBuffer | undefined;
  #tail: TailBuffer | undefined;
  #resume: () => void = ignore;
  readonly #client: ResponseWriter;
  readonly #options: RelayOptions;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#client = new ResponseWriter(options.exchange, options.clientIdleMs);
  }

  head(status: number, rawHeaders: Buffer[], resume: () => void): void {
    this.status = status;
    this.#headers = returnedHeaders(rawHeaders);
    this.#resume = resume;
    const type = (headerOf(this.#headers, 'content-type') ?? '').toLowerCase();
    const encoding = headerOf(this.#headers, 'content-encoding') ?? 'identity';
    const { translator } = this.#options;
    if (status < 300 && type.startsWith('text/event-stream')) {
      // What can't be read can't be translated either: it is gathered, and refused as no answer.
      if (encoding !== 'identity' && translator) return;
      if (encoding === 'identity') this.#begin();
      if (encoding === 'identity' && this.#options.holdsBack) {
        this.#mode = 'hold';
        return;
      }
      this.#mode = encoding === 'identity' ? 'stream' : 'pass';
      this.#writeHead();
      setImmediate(() => this.#flushHead());
    } else if (status < 300 && MEDIA.test(type)) {
      this.#mode = 'pass';
      this.#writeHead();
    }
  }

  #begin(): void {
    this.#framer = createEventFramer();
    this.#kept = new EventBuffer(this.#options.wire, () => this.onEvents !== undefined);
  }

  /** A client need not wait for the first event to learn that there is an answer. */
  #flushHead(): void {
    const { response } = this.#options.exchange;
    if (this.firstByteAt === undefined && !response.destroyed) response.flushHeaders();
  }

  data(chunk: Buffer): boolean {
    this.lastByteAt = this.#options.now();
    this.firstByteAt ??= this.lastByteAt;
    if (this.#mode === 'stream') return this.#stream(chunk);
    if (this.#mode === 'hold') return this.#hold(chunk);
    if (this.#mode === 'pass') {
      this.#keepEnd(chunk);
      return this.#write(chunk);
    }
    this.#gathered.push(chunk);
    this.#size += chunk.length;
    if (this.#size <= MAX_GATHERED_BYTES) return true;
    if (!this.#options.translator) return this.#passOn();
    this.isTooLong = true;
    this.onLate();
    return true;
  }

  /** Whether what is no good answer is kept from the client. */
  get holdsBack(): boolean {
    return this.#options.holdsBack === true;
  }

  /** Whether any of the answer has gone out. */
  get started(): boolean {
    return this.#mode !== 'gather' && this.#mode !== 'hold';
  }

  get isStream(): boolean {
    return this.#mode === 'stream' || this.#mode === 'hold';
  }

  /** The closing event of a stream as it came; empty before it. */
  get closed(): Buffer {
    return this.#closed;
  }

  /** A stream that has ended with neither its closing event nor a reason to stop. */
  get isCutShort(): boolean {
    if (this.#mode !== 'stream' || this.#closed.length > 0 || this.streamError !== undefined) return false;
    const { wire } = this.#options;
    if (!this.#kept || wire.isOver === undefined || (this.usage !== undefined && this.usageIs === undefined))
      return false;
    return !wire.isOver(this.#kept.end());
  }

  /** The provider's headers, flat, names in lower case. */
  get headers(): readonly string[] {
    return this.#headers;
  }

  /** What came of an answer of which nothing has gone out, as it came; undefined where it can't be read. */
  get unsent(): Buffer | undefined {
    if (this.#mode === 'hold') return Buffer.concat([this.#kept?.all() ?? NOTHING, this.#closed]);
    return this.#mode === 'gather' ? this.#plain(this.#body()) : undefined;
  }

  /** The events of a stream as far back as they are kept, its closing one included. */
  get lastEvents(): { events: Buffer; isWhole: boolean } | undefined {
    return (
      this.#kept && { events: Buffer.concat([this.#kept.end(), this.#closed]), isWhole: this.#kept.isWhole }
    );
  }

  /** Whether all that came was read, so that what it says can be counted. */
  get isReadable(): boolean {
    if (this.#mode === 'gather') return this.#plain(this.#body()) !== undefined;
    return this.isStream;
  }

  /** A gathered answer as text; empty where it can't be read. */
  body(): string {
    return this.#mode === 'gather' ? (this.#plain(this.#body())?.toString('utf8') ?? '') : '';
  }

  /** What has come so far, for counting tokens where the provider reports none. */
  receivedText(): string[] {
    if (this.#mode === 'gather') return this.#gatheredText();
    return [this.#kept?.text() ?? ''];
  }

  /** A body that is no JSON may be events that don't say so, or a text of any kind: it is what was generated. */
  #gatheredText(): string[] {
    const { wire } = this.#options;
    const body = this.#plain(this.#body());
    if (!body) return [];
    const text = body.toString('utf8');
    if (parseObject(text)) return wire.textOf(body, false);
    const events = wire.textOf(body, true).filter((part) => part !== '');
    return events.length > 0 ? events : [text];
  }

  /** What has come of a stream's event that has not ended, and may never. */
  get unended(): string {
    return this.#closing ? '' : this.#framer.rest().toString('utf8');
  }

  /** The provider has ended the answer: reads what only the end tells. */
  readEnd(): void {
    if (this.#mode === 'gather') this.#readGathered();
    else if (this.#mode === 'pass') this.#readTail();
    else if (!this.#closing) this.#readLastEvent();
  }

  #readGathered(): void {
    const { wire } = this.#options;
    const body = this.#plain(this.#body());
    if (body) this.usage = wire.usageOf(body) ?? wire.inspect(body, false).usage;
  }

  #readTail(): void {
    const end = this.#tail?.fromUsage();
    if (end) this.usage = this.#options.wire.usageOf(end);
  }

  /** The last event may lack the empty line that would have ended it. */
  #readLastEvent(): void {
    const rest = this.#framer.rest();
    if (rest.length === 0) return;
    const { pass, closing } = this.#inspect(rest);
    if (this.#mode === 'hold' && this.#options.wire.hasContent?.(rest) !== false) this.#release();
    if (closing) this.#closed = closing;
    this.#closing = [this.#out(pass), ...(closing ? [this.#out(closing)] : [])];
  }

  /** Makes a gathered answer what the client reads. Throws GwError 502 where it can't be translated. */
  prepare(): void {
    if (this.#mode === 'gather' && this.#options.translator) this.#translated = this.#answer();
  }

  /** Sends what is left and ends the answer. */
  finish(): void {
    if (this.#mode === 'gather') {
      const body = this.#translated ?? this.#answer();
      if (this.status === 204 || this.status === 304) this.#writeHead();
      else this.#writeHead('content-length', String(body.length));
      this.#client.end(body);
    } else {
      const { translator } = this.#options;
      const last = [...(this.#closing ?? []), ...(translator ? [translator.end()] : [])];
      this.#client.end(last.length === 1 ? (last[0] ?? NOTHING) : Buffer.concat(last));
    }
  }

  /** Ends a stream that has reached its limit the way the provider should have, with what it is booked at. */
  finishAtLimit(usage: TokenUsage): void {
    const ending = this.#kept?.ending();
    if (ending) this.#client.end(this.#out(ending.end(this.#options.hideUsage ? undefined : usage)));
    else this.breakOff();
  }

  /** Breaks the answer off, so that the client sees that it is not whole; a stream tells why, between two events. */
  breakOff(fault?: StreamFault): void {
    const { wire, translator } = this.#options;
    const rest = this.#framer.rest();
    if (rest.length > 0 && !translator) this.#client.breakOff(rest);
    else if (fault && this.#mode === 'stream') this.#client.breakOff(errorEvent(wire.endpoint, fault));
    else this.#client.breakOff(NOTHING);
  }

  /** As a stream, but kept: an error or an end before the first content is a failure like any other. */
  #hold(chunk: Buffer): boolean {
    const events = this.#framer.push(chunk);
    if (events.length === 0 || this.#closing) return true;
    const { pass, closing } = this.#inspect(events);
    this.#size += pass.length;
    this.#heldBack.push(this.#out(pass));
    if (this.#options.wire.hasContent?.(events) !== false || this.#size > MAX_HELD_BYTES) this.#release();
    if (closing) this.#close(closing);
    else if (!this.started && this.streamError !== undefined) {
      this.onClosed({ kind: 'complete' });
      this.onLate();
    }
    return true;
  }

  #release(): void {
    this.#mode = 'stream';
    this.#writeHead();
    this.#write(Buffer.concat(this.#heldBack));
    this.#heldBack = [];
    this.onContent?.();
  }

  #close(closing: Buffer): void {
    this.#closed = closing;
    this.#closing = [this.#out(closing)];
    if (!this.#options.translator) this.#closing.push(this.#framer.rest());
    this.onClosed({ kind: 'complete' });
  }

  #stream(chunk: Buffer): boolean {
    if (this.#closing) {
      if (this.#options.exchange.response.writableEnded) this.onLate();
      else if (!this.#options.translator) this.#closing.push(chunk);
      return true;
    }
    const events = this.#framer.push(chunk);
    if (events.length === 0) return true;
    const found = this.#inspect(events);
    this.#size += found.pass.length;
    this.onEvents?.(this.#size);
    const pass = this.#out(found.pass);
    const more = pass.length === 0 || this.#write(pass);
    if (found.closing) this.#close(found.closing);
    return more;
  }

  /** Events as the client reads them: by reference where it speaks the provider's wire. */
  #out(events: Buffer): Buffer {
    const { translator } = this.#options;
    return translator ? translator.events(events) : events;
  }

  /** The gathered answer as the client reads it. */
  #answer(): Buffer {
    const { translator } = this.#options;
    return translator
      ? translator.answer(this.#plain(this.#body()) ?? this.#body(), this.status)
      : this.#body();
  }

  #inspect(events: Buffer): InspectedEvents {
    const found = this.#options.wire.inspect(events, this.#options.hideUsage);
    if (found.usage !== undefined) {
      this.usage = addUsage(this.usage, found.usage);
      this.usageIs = found.usageIs;
    }
    if (found.error !== undefined) this.streamError = found.error;
    this.#kept?.add(found.pass);
    return found;
  }

  #write(bytes: Buffer): boolean {
    return this.#client.write(bytes, this.#resume);
  }

  #passOn(): boolean {
    this.#mode = 'pass';
    this.#writeHead();
    const body = Buffer.concat(this.#gathered);
    this.#gathered = [];
    this.#keepEnd(body.subarray(-TAIL_BYTES));
    return this.#write(body);
  }

  #keepEnd(bytes: Buffer): void {
    this.#tail ??= new TailBuffer();
    this.#tail.add(bytes);
  }

  #writeHead(...more: string[]): void {
    const { translator, ownHeaders } = this.#options;
    const own = translator ? translatedHeaders(this.#headers, this.#mode === 'stream') : this.#headers;
    this.#client.head(this.status, own.concat(ownHeaders(), more));
  }

  #body(): Buffer {
    if (this.#gathered.length > 1) this.#gathered = [Buffer.concat(this.#gathered)];
    return this.#gathered[0] ?? NOTHING;
  }

  #plain(body: Buffer): Buffer | undefined {
    return decompressSync(body, headerOf(this.#headers, 'content-encoding'), MAX_GATHERED_BYTES);
  }
}
