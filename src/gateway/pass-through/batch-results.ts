import { isObject } from '../../json/object.ts';
import { fields } from '../../pricing/payload-fields.ts';
import { NO_USAGE } from '../../usage.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { Target } from '../state/resolver.ts';
import { addBills, type BatchBill, type BatchPriceParts, billOfAnswer } from './batch-cost.ts';

/** No model writes a longer answer. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

/**
 * Adds up what the results of a batch cost, as they pass. A line has the answer to one request:
 * https://developers.openai.com/api/docs/guides/batch, https://platform.claude.com/docs/en/api/retrieving-message-batch-results
 */
export class BatchResults {
  readonly #gateway: BatchPriceParts;
  readonly #target: Target;
  #bill: BatchBill = { usage: NO_USAGE, costNanoUsd: 0, flags: 0 };
  #line: Buffer[] = [];
  #bytes = 0;
  #lines = 0;
  #isReadable = true;

  constructor(gateway: BatchPriceParts, target: Target) {
    this.#gateway = gateway;
    this.#target = target;
  }

  take(chunk: Buffer): void {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, at));
      this.#read();
      start = at + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  /** The bill once all has passed; undefined if that is not known. */
  end(): BatchBill | undefined {
    this.#read();
    return this.#isReadable && this.#lines > 0 ? this.#bill : undefined;
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > MAX_LINE_BYTES) this.#isReadable = false;
    if (this.#isReadable && part.length > 0) this.#line.push(part);
  }

  #read(): void {
    const text = Buffer.concat(this.#line).toString('utf8').trim();
    this.#line = [];
    this.#bytes = 0;
    if (text === '' || !this.#isReadable) return;
    this.#lines++;
    const line = parseObject(text);
    const answer = line && answerIn(line);
    if (line && !answer) return;
    const bill = answer && billOfAnswer(this.#gateway, this.#target, answer);
    if (bill) this.#bill = addBills(this.#bill, bill);
    else this.#isReadable = false;
  }
}

/** The answer in a line; undefined for a request that has failed, which costs nothing. */
function answerIn({ response, result }: Record<string, unknown>): Record<string, unknown> | undefined {
  const { status_code: status, body } = fields(response);
  const answer = isObject(response) ? (status === 200 ? body : undefined) : fields(result).message;
  return isObject(answer) ? answer : undefined;
}
