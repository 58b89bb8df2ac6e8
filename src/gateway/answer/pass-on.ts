import { type Answer, AnswerReceiver, NOTHING, writeHead } from './answer-receiver.ts';
import { TAIL_BYTES, TailBuffer } from './tail-buffer.ts';

/** Passes an answer on as it arrives: media, an encoded stream, or one too large to gather. */
export class PassOn extends AnswerReceiver {
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
