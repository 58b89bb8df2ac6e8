import type { IncomingHttpHeaders } from 'node:http';
import { GwError } from '../../errors.ts';
import { withPlainLetters } from '../../json/plain-letters.ts';
import type { Earlier } from '../../json/recent-texts.ts';
import { type BodyScan, invalidJson, type ScannedBody } from '../../wire/request/scan/body-scan.ts';
import type { Wire } from '../../wire/wire.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';
import type { ScanAnswer, ScanRequest } from './scan-worker.ts';

/**
 * Bodies of which more is new are read in a thread: the worst of 20 MB take 300 ms, in which nobody else would be served.
 * The round trip costs 0.1 ms, and the first one 50 ms.
 */
const LARGE_BYTES = 1024 * 1024;

/** Whether a body is worth other requests' turns between the stages that read it. */
export const isLarge = (bytes: Buffer): boolean => bytes.length > LARGE_BYTES;

/** Lets the event loop serve others. */
export const giveWay = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs steps at once, or those of a large body with turns for others in between. */
export function runSteps<T>(steps: Generator<undefined, T>, bytes: Buffer): T | Promise<T> {
  return isLarge(bytes) ? runInTurns(steps) : runAtOnce(steps);
}

export function runAtOnce<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

async function runInTurns<T>(steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await giveWay();
  }
}

/** One thread for the process. It ends after a minute without a large body. */
const calls = createWorkerCalls<ScanRequest, ScanAnswer>({
  name: 'reader of large bodies',
  startWorker: () => startBuiltWorker('scan-worker'),
});

/** A body's JSON with plain letters. */
export function plainLetters(body: Buffer): Buffer | Promise<Buffer> {
  if (!isLarge(body)) return withPlainLetters(body);
  return calls.call({ task: 'letters', bytes: body }).then((answer) => {
    if (!('bytes' in answer)) throw new Error('the reader of large bodies gave no bytes');
    const { buffer, byteOffset, length } = answer.bytes;
    return Buffer.from(buffer, byteOffset, length);
  });
}

/** Scans a body of an API. Throws GwError 400. */
export function scanRequest(
  bytes: Buffer,
  wire: Wire,
  earlier?: Earlier<ScannedBody>,
): BodyScan | Promise<BodyScan> {
  const isNew = bytes.length - (earlier?.shared ?? 0) > LARGE_BYTES;
  return isNew ? scanInThread(bytes, wire.endpoint) : wire.scan(bytes, earlier);
}

/** Scans a large body of any API: null if it is no JSON object. Undefined for a small one, and for what isn't sent as JSON. */
export async function scanLoosely(
  bytes: Buffer,
  headers: IncomingHttpHeaders,
): Promise<BodyScan | null | undefined> {
  if (!isLarge(bytes) || !/json\b/i.test(headers['content-type'] ?? '')) return undefined;
  return scanInThread(bytes).catch((error) => {
    if (error instanceof GwError) return null;
    throw error;
  });
}

/** `normalizationGrowth` of a large body. */
export async function growthInThread(bytes: Buffer): Promise<number> {
  const answer = await calls.call({ task: 'growth', bytes });
  if (!('growth' in answer)) throw new Error('the reader of large bodies gave no growth');
  return answer.growth;
}

function scanInThread(bytes: Buffer, endpoint?: string): Promise<BodyScan> {
  return calls.call({ task: 'scan', bytes, endpoint }).then((answer) => {
    if ('refused' in answer) throw invalidJson(answer.refused);
    if (!('scan' in answer)) throw new Error('the reader of large bodies gave no scan');
    return answer.scan;
  });
}
