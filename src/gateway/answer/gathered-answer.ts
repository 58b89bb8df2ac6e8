import { headerOf, withoutHeaders } from '../../raw-headers.ts';
import { withoutMark } from '../../sse/frame.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { decompressSync } from '../intake/decompress.ts';
import { type Answer, AnswerReceiver, NOTHING, redactBytes, writeHead } from './answer-receiver.ts';

const ENCODING = new Set(['content-encoding']);

/** A larger answer is passed on as it arrives. */
const MAX_GATHERED_BYTES = 16 * 1024 * 1024;

/** Gathers an answer and sends it whole, after its record is committed. */
export class GatheredAnswer extends AnswerReceiver {
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
    const { wire } = this.answer.options;
    if (this.answer.status >= 400) this.#redact();
    const body = this.#plain();
    if (!body) return;
    this.usage = wire.usageOf(body) ?? undefined;
    if (this.usage !== undefined) return;
    const { usage, usageIs } = wire.inspect(body, false);
    this.usage = usage;
    this.usageIs = usageIs;
  }

  /** An error may quote the credential that the provider was sent. */
  #redact(): void {
    const { answer } = this;
    const body = this.#plain();
    const clean = body && redactBytes(body, answer.options.redact);
    if (!body || clean === body) return;
    this.#chunks = clean ? [clean] : [];
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
