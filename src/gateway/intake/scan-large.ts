import type { IncomingHttpHeaders } from 'node:http';
import { GwError } from '../../errors.ts';
import type { Range } from '../../json/bytes.ts';
import { withPlainLetters } from '../../json/plain-letters.ts';
import type { Earlier, RecentTexts } from '../../json/recent-texts.ts';
import type { ItemMemory } from '../../translation/carry/item-memory.ts';
import type { BodyOptions } from '../../translation/context.ts';
import type { Json } from '../../translation/json.ts';
import type { Route, TranslatedBody } from '../../translation/translate.ts';
import type { BodyScan, ScannedBody } from '../../wire/request/scan/body-scan.ts';
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

/** The last bodies, with plain letters. */
export type RecentBodies = Pick<RecentTexts<ScannedBody>, 'find'>;

/** Lets the event loop serve others. */
export const giveWay = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One thread for the process. It ends after a minute without a large body. */
const calls = createWorkerCalls<ScanRequest, ScanAnswer>({
  name: 'reader of large bodies',
  startWorker: () => startBuiltWorker('scan-worker'),
});

async function ask<Key extends string>(request: ScanRequest, key: Key) {
  const answer = await calls.call(request);
  if ('refused' in answer) throw new GwError(answer.refused.message, answer.refused);
  if (key in answer) return (answer as Extract<ScanAnswer, Record<Key, unknown>>)[key];
  throw new Error(`the reader of large bodies gave no ${key}`);
}

const bufferOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, length);

/** A body's JSON with plain letters. What it shares with the last bodies is not searched again. */
export function plainLetters(body: Buffer, recent?: RecentBodies): Buffer | Promise<Buffer> {
  const plainBytes = recent?.find(body)?.shared ?? 0;
  if (body.length - plainBytes <= LARGE_BYTES) return withPlainLetters(body, plainBytes);
  return ask({ task: 'letters', bytes: body }, 'bytes').then(bufferOf);
}

/** Scans a body of an API. Throws GwError 400. */
export function scanRequest(
  bytes: Buffer,
  wire: Wire,
  earlier?: Earlier<ScannedBody>,
): BodyScan | Promise<BodyScan> {
  const isNew = bytes.length - (earlier?.shared ?? 0) > LARGE_BYTES;
  return isNew ? ask({ task: 'scan', bytes, path: wire.path }, 'scan') : wire.scan(bytes, earlier);
}

/** Scans a large body of any API: null if it is no JSON object. Undefined for a small one, and for what isn't sent as JSON. */
export async function scanLoosely(
  bytes: Buffer,
  headers: IncomingHttpHeaders,
): Promise<BodyScan | null | undefined> {
  if (!isLarge(bytes) || !/json\b/i.test(headers['content-type'] ?? '')) return undefined;
  return ask({ task: 'scan', bytes, path: undefined }, 'scan').catch((error) => {
    if (error instanceof GwError) return null;
    throw error;
  });
}

/** Measures a body. `json`: where it is JSON that may be written anew; undefined if all of it may be. */
export const measureInThread = (
  bytes: Buffer,
  { path }: Pick<Wire, 'path'>,
  json: readonly Range[] | undefined,
) => ask({ task: 'measure', bytes, path, json }, 'measured');

/** Translates a body in the thread, and scans the result. Throws GwError 400 for what the other API can't express. */
export async function translateInThread(
  bytes: Buffer,
  route: Route,
  options: BodyOptions,
  memory: Pick<ItemMemory, 'recall'>,
): Promise<TranslatedBody & { scan: BodyScan }> {
  const task = { task: 'translate', bytes, route, options } as const;
  const { asked, ...first } = await ask({ ...task, recalled: undefined }, 'translation');
  const recalled = new Map<string, Json>();
  for (const id of asked) {
    const item = memory.recall(id);
    if (item) recalled.set(id, item);
  }
  if (first.bytes && recalled.size === 0) return { ...first, bytes: bufferOf(first.bytes) };
  const { asked: _asked, ...second } = await ask({ ...task, recalled }, 'translation');
  if (!second.bytes) throw new Error('the reader of large bodies asked twice');
  return { ...second, bytes: bufferOf(second.bytes) };
}
