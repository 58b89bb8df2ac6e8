import { parseObject } from '../../../wire/answer/events.ts';
import type { InspectedEvents } from '../../../wire/answer/inspected-events.ts';
import type { Wire } from '../../../wire/wire.ts';
import { plainBody } from '../../intake/decompress.ts';
import type { Answered } from '../../metering/metered.ts';
import { headerOf, returnedHeaders } from '../../upstream/headers.ts';
import type { Receiver } from '../../upstream/send.ts';

const NOTHING = Buffer.alloc(0);

/** An answer that goes to nobody: it is gathered, up to a limit, to be metered and looked at. */
export class ShadowAnswer implements Receiver, Answered {
  status = 0;
  usage: unknown;
  usageIs: InspectedEvents['usageIs'];
  firstByteAt: number | undefined;
  lastByteAt: number | undefined;
  /** More has come than is kept. */
  onTooLong: () => void = () => {};
  readonly isStream = false;
  readonly unended = '';
  #encoding: string | undefined;
  #parts: Buffer[] = [];
  #size = 0;
  readonly #wire: Wire;
  readonly #maxBytes: number;
  readonly #now: () => number;

  constructor(wire: Wire, { maxBytes, now }: { maxBytes: number; now: () => number }) {
    this.#wire = wire;
    this.#maxBytes = maxBytes;
    this.#now = now;
  }

  head(status: number, rawHeaders: Buffer[]): void {
    this.status = status;
    this.#encoding = headerOf(returnedHeaders(rawHeaders), 'content-encoding');
  }

  data(chunk: Buffer): boolean {
    this.lastByteAt = this.#now();
    this.firstByteAt ??= this.lastByteAt;
    this.#size += chunk.length;
    if (this.#size > this.#maxBytes) this.onTooLong();
    else this.#parts.push(chunk);
    return true;
  }

  /** The body as it was before it was encoded; empty where that can't be had. */
  body(): Buffer {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts)];
    return plainBody(this.#parts[0] ?? NOTHING, this.#encoding, this.#maxBytes) ?? NOTHING;
  }

  get isReadable(): boolean {
    return this.body().length > 0;
  }

  /** Half an answer is no JSON: it counts as it came. */
  receivedText(): string[] {
    const body = this.body();
    const text = body.toString('utf8');
    return parseObject(text) ? this.#wire.textOf(body, false) : [text];
  }

  readUsage(): void {
    const body = this.body();
    this.usage = this.#wire.usageOf(body) ?? this.#wire.inspect(body, false).usage;
  }
}
