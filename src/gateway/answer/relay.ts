import type { GwError } from '../../errors.ts';
import { headerOf, withoutHeaders } from '../../raw-headers.ts';
import { withoutMark } from '../../sse/frame.ts';
import type { TokenUsage } from '../../usage.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { InspectedEvents, StreamFault } from '../../wire/answer/inspected-events.ts';
import { decompressSync } from '../intake/decompress.ts';
import { returnedHeaders } from '../upstream/headers.ts';
import type { Receiver } from '../upstream/send.ts';
import {
  type Answer,
  AnswerReceiver,
  NOTHING,
  type RelayObserver,
  type RelayOptions,
  redactBytes,
  type ToolResults,
  writeHead,
} from './answer-receiver.ts';
import { EventStream } from './event-stream.ts';
import { ResponseWriter } from './response-writer.ts';

/** Media and files are passed on as they arrive: clients play them at once, and they contain no usage. None is translated. */
const MEDIA = /^(audio|image|video)\/|octet-stream/;

/** An answer that is read without a client is given up after this many bytes: no model writes so much. */
const MAX_ABANDONED_BYTES = 64 * 1024 * 1024;

/** Relays a provider's answer to the client. Its head decides which receiver takes it; its end waits for `finish`. */
export class Relay implements Receiver {
  /** The error that the client gets instead of an answer that can't be translated. */
  refusal: GwError | undefined;
  firstByteAt: number | undefined;
  lastByteAt: number | undefined;
  /** The status that a client had got when it hung up on an answer that is read on; 0 for none. */
  abandonedStatus: number | undefined;
  #abandonedBytes = 0;
  readonly #answer: Answer;
  #receiver: AnswerReceiver;

  constructor(options: RelayOptions, observer: RelayObserver) {
    const client = new ResponseWriter(options.exchange, options.clientIdleMs);
    this.#answer = { status: 0, headers: [], resume: () => {}, client, options, observer };
    this.#receiver = new GatheredAnswer(this.#answer, (gathered) => this.#passOn(gathered));
  }

  head(status: number, rawHeaders: Buffer[], resume: () => void): void {
    const answer = this.#answer;
    answer.status = status;
    answer.headers = returnedHeaders(rawHeaders, answer.options.credential);
    answer.resume = resume;
    answer.options.onHead?.(answer.headers);
    if (status >= 300) return;
    const type = (headerOf(answer.headers, 'content-type') ?? '').toLowerCase();
    if (type.startsWith('text/event-stream')) this.#receiveEvents();
    else if (MEDIA.test(type) && !answer.options.translator) this.#receiver = new PassOn(answer);
  }

  /** Passes an encoded stream on. If it needs translation, it is gathered and refused as unreadable. */
  #receiveEvents(): void {
    const { headers, options } = this.#answer;
    const isPlain = (headerOf(headers, 'content-encoding') ?? 'identity') === 'identity';
    if (!isPlain && options.translator) return;
    this.#receiver = isPlain ? new EventStream(this.#answer) : new PassOn(this.#answer);
    if (this.started) setImmediate(() => this.#flushHead());
  }

  /** Sends the head before the first event, so that the client knows that the answer has begun. */
  #flushHead(): void {
    const { response } = this.#answer.options.exchange;
    if (this.firstByteAt === undefined && !response.destroyed) response.flushHeaders();
  }

  #passOn(gathered: Buffer): boolean {
    this.#receiver = new PassOn(this.#answer);
    return this.#receiver.data(gathered);
  }

  data(chunk: Buffer): boolean {
    this.lastByteAt = this.#answer.options.now();
    this.firstByteAt ??= this.lastByteAt;
    if (this.abandonedStatus !== undefined) this.#countAbandoned(chunk.length);
    this.#answer.options.onBody?.(chunk);
    return this.#receiver.data(chunk);
  }

  #countAbandoned(bytes: number): void {
    this.#abandonedBytes += bytes;
    if (this.#abandonedBytes > MAX_ABANDONED_BYTES) this.#answer.observer.onSurplus();
  }

  /** The client has hung up: the rest of the answer is read for its usage, even if the client's pace had paused it. */
  abandon(): void {
    this.abandonedStatus = this.status;
    this.#answer.resume();
  }

  /** HTTP status; 0 without an answer. */
  get status(): number {
    return this.#answer.status;
  }

  /** The provider's headers, flat, names in lower case. */
  get headers(): readonly string[] {
    return this.#answer.headers;
  }

  /** Whether a bad answer is kept from the client, so that another target can answer. */
  get holdsBack(): boolean {
    return this.#answer.options.holdsBack;
  }

  get usage(): unknown {
    return this.#receiver.usage;
  }

  get usageIs(): InspectedEvents['usageIs'] {
    return this.#receiver.usageIs;
  }

  get toolResults(): ToolResults {
    return this.#receiver.toolResults;
  }

  get streamError(): string | undefined {
    return this.#receiver.streamError;
  }

  get started(): boolean {
    return this.#receiver.started;
  }

  get isStream(): boolean {
    return this.#receiver.isStream;
  }

  get isReadable(): boolean {
    return this.#receiver.isReadable;
  }

  get isCutShort(): boolean {
    return this.#receiver.isCutShort;
  }

  get closingEvent(): Buffer {
    return this.#receiver.closingEvent;
  }

  get unsent(): Buffer | undefined {
    return this.#receiver.unsent;
  }

  get firstEvents(): Buffer {
    return this.#receiver.firstEvents;
  }

  get lastEvents(): Buffer | undefined {
    return this.#receiver.lastEvents;
  }

  get unended(): string {
    return this.#receiver.unended;
  }

  body(): string {
    return this.#receiver.body();
  }

  receivedText(): string[] {
    return this.#receiver.receivedText();
  }

  readEnd(): void {
    this.#receiver.readEnd();
  }

  prepare(): void {
    this.#receiver.prepare();
  }

  finish(): void {
    this.#receiver.finish();
  }

  finishAtLimit(usage: TokenUsage): void {
    this.#receiver.finishAtLimit(usage);
  }

  breakOff(fault?: StreamFault): void {
    this.#receiver.breakOff(fault);
  }
}

/** Bytes kept from the end of an answer that is passed on: the usage is there. */
const TAIL_BYTES = 64 * 1024;

/** Keeps the last bytes of an answer that is passed on. */
class TailBuffer {
  #parts: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    for (
      let [first] = this.#parts;
      first && this.#bytes - first.length >= TAIL_BYTES;
      [first] = this.#parts
    ) {
      this.#parts.shift();
      this.#bytes -= first.length;
    }
  }

  /** The answer from the last `"usage"` on, as an object with a brace added in front; undefined if there is none. */
  fromUsage(): Buffer | undefined {
    const tail = Buffer.concat(this.#parts);
    const at = tail.lastIndexOf('"usage"');
    return at < 0 ? undefined : Buffer.concat([Buffer.from('{'), tail.subarray(at)]);
  }
}

/** Passes an answer on as it arrives: media, an encoded stream, or one too large to gather. */
class PassOn extends AnswerReceiver {
  readonly started = true;
  readonly #tail = new TailBuffer();

  constructor(answer: Answer) {
    super(answer);
    writeHead(answer, false);
  }

  data(chunk: Buffer): boolean {
    this.#tail.add(chunk.length > TAIL_BYTES ? chunk.subarray(-TAIL_BYTES) : chunk);
    return this.answer.client.write(chunk, this.answer.resume);
  }

  readEnd(): void {
    const end = this.#tail.fromUsage();
    if (end) this.usage = this.answer.options.wire.usageOf(end);
  }

  finish(): void {
    this.answer.client.end(this.answer.options.translator?.end() ?? NOTHING);
  }
}

const ENCODING = new Set(['content-encoding']);

/** A larger answer is passed on as it arrives. */
const MAX_GATHERED_BYTES = 16 * 1024 * 1024;

/** Gathers an answer and sends it whole, after its record is committed. */
class GatheredAnswer extends AnswerReceiver {
  readonly started = false;
  #chunks: Buffer[] = [];
  #size = 0;
  #translated: Buffer | undefined;
  readonly #passOn: (gathered: Buffer) => boolean;

  /** `passOn` takes over an answer that grows too large to gather. */
  constructor(answer: Answer, passOn: (gathered: Buffer) => boolean) {
    super(answer);
    this.#passOn = passOn;
  }

  data(chunk: Buffer): boolean {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size <= MAX_GATHERED_BYTES) return true;
    if (!this.answer.options.translator) return this.#passOn(this.#whole());
    this.answer.observer.onTooLong();
    return true;
  }

  readEnd(): void {
    const { wire, redact, editAnswer } = this.answer.options;
    // An error may quote the credential that the provider was sent.
    if (this.answer.status >= 400) this.#edit((bytes) => redactBytes(bytes, redact));
    if (editAnswer) this.#edit(editAnswer);
    const body = this.#plain();
    if (!body) return;
    this.usage = wire.usageOf(body) ?? undefined;
    if (this.usage !== undefined) return;
    const { usage, usageIs } = wire.inspect(body, false);
    this.usage = usage;
    this.usageIs = usageIs;
  }

  /** Changes the decoded body, if it can be decoded. */
  #edit(edit: (body: Buffer) => Buffer): void {
    const { answer } = this;
    const body = this.#plain();
    const edited = body && edit(body);
    if (!edited || edited === body) return;
    this.#chunks = [edited];
    answer.headers = withoutHeaders(answer.headers, ENCODING);
  }

  override prepare(): void {
    if (this.answer.options.translator) this.#translated = this.#forClient();
  }

  finish(): void {
    const body = this.#translated ?? this.#forClient();
    const { status, client } = this.answer;
    if (status === 204 || status === 304) writeHead(this.answer, false);
    else writeHead(this.answer, false, 'content-length', String(body.length));
    client.end(body);
  }

  override get unsent(): Buffer | undefined {
    return this.#plain();
  }

  override get isReadable(): boolean {
    return this.#plain() !== undefined;
  }

  override body(): string {
    return this.#plain()?.toString('utf8') ?? '';
  }

  /** A body that is not JSON may be events with a wrong content type, or plain text. All of it counts as generated. */
  override receivedText(): string[] {
    const { wire } = this.answer.options;
    const body = this.#plain();
    if (!body) return [];
    const text = body.toString('utf8');
    if (parseObject(text)) return wire.textOf(body, false);
    const events = wire.textOf(body, true).filter((part) => part !== '');
    return events.length > 0 ? events : [text];
  }

  #forClient(): Buffer {
    const { translator } = this.answer.options;
    return translator ? translator.answer(this.#plain() ?? this.#whole(), this.answer.status) : this.#whole();
  }

  #whole(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] ?? NOTHING;
  }

  /** The decoded body; undefined if gw can't decode its content encoding. */
  #plain(): Buffer | undefined {
    const body = decompressSync(
      this.#whole(),
      headerOf(this.answer.headers, 'content-encoding'),
      MAX_GATHERED_BYTES,
    );
    return body && withoutMark(body);
  }
}
