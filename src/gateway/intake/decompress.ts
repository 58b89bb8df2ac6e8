import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { type Clock, systemClock } from '../../clock.ts';
import { badRequest, GwError, messageOf } from '../../errors.ts';
import { copyBytes } from '../../json/bytes.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';
import { ClientGone } from '../context/exchange.ts';
import type { UnzstdAnswer, UnzstdRequest } from './unzstd-worker.ts';
import { type DecodeZstdSync, decodeFrames, decodeFramesSync } from './zstd-frames.ts';

interface DecodeOptions {
  maxBytes: number;
  /** The error above `maxBytes`. */
  tooLarge: () => GwError;
  /** Takes memory for what has been decoded; may wait, and throws where there is none. */
  take: (bytes: number) => Promise<void> | undefined;
}

type CreateDecoder = (options: zlib.ZlibOptions | zlib.BrotliOptions) => Transform;

type DecodeSync = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

/** How gw decodes an encoding. */
interface Encoding {
  create: CreateDecoder | undefined;
  /** What is decoded comes with each piece, not when the decoder's memory is full. */
  flushing: zlib.ZlibOptions | zlib.BrotliOptions;
  sync: DecodeSync | undefined;
}

const FLUSHING = { flush: zlib.constants.Z_SYNC_FLUSH };
const GZIP: Encoding = { create: zlib.createGunzip, flushing: FLUSHING, sync: zlib.gunzipSync };

/** Node 22 takes a body that is cut for a whole one, and 22 and 24 ignore what follows a frame in the same chunk. */
const READS_ALL_FRAMES = Number.parseInt(process.versions.node, 10) >= 26;

/** Node has them since 22.15. */
const { createZstdDecompress, zstdDecompressSync } = zlib as {
  createZstdDecompress?: (options: zlib.ZlibOptions) => Transform & zlib.Zlib;
  zstdDecompressSync?: DecodeSync & DecodeZstdSync;
};

const ZSTD: Encoding = {
  create:
    createZstdDecompress &&
    (READS_ALL_FRAMES ? createZstdDecompress : (options) => decodeFrames(createZstdDecompress(options))),
  flushing: {},
  sync:
    zstdDecompressSync &&
    (READS_ALL_FRAMES
      ? zstdDecompressSync
      : (body, options) => decodeFramesSync(zstdDecompressSync, body, options)),
};

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  gzip: GZIP,
  'x-gzip': GZIP,
  deflate: { create: zlib.createInflate, flushing: FLUSHING, sync: zlib.inflateSync },
  br: {
    create: zlib.createBrotliDecompress,
    flushing: { flush: zlib.constants.BROTLI_OPERATION_FLUSH },
    sync: zlib.brotliDecompressSync,
  },
  zstd: ZSTD,
};

function encodingOf(name: string): Encoding | undefined {
  const key = name.trim().toLowerCase();
  return Object.hasOwn(ENCODINGS, key) ? ENCODINGS[key] : undefined;
}

/** A decoder of a stream; undefined for an encoding that gw can't decode as it comes. */
export function streamDecoder(encoding: string): Transform | undefined {
  const { create, flushing } = encodingOf(encoding) ?? {};
  return create?.(flushing ?? {});
}

/** Whether gw can decode this `content-encoding`. */
export const canDecompress = (encoding: string): boolean => encodingOf(encoding) !== undefined;

/** Decodes a request body. Throws GwError 400 for invalid data, `tooLarge()` above `maxBytes`, and what `take` throws. */
export async function decompress(body: Buffer, encoding: string, options: DecodeOptions): Promise<Buffer> {
  const found = encodingOf(encoding);
  if (!found) return body;
  // fzstd may not come to an end, and would keep everybody waiting for answers: it runs in a thread.
  const inThread = found === ZSTD && !READS_ALL_FRAMES;
  try {
    return await (found.create && !inThread
      ? decodeWith(found.create, body, options)
      : decodeZstd(body, options));
  } catch (error) {
    if (error instanceof GwError || error instanceof ClientGone) throw error;
    throw badRequest(
      `the body is not valid ${encoding}, which its content-encoding header names (${messageOf(error)})`,
    );
  }
}

const MIN_CHUNK_BYTES = 1024;
const MAX_CHUNK_BYTES = 256 * 1024;

/** Decodes chunk by chunk: a small body that grows without end takes no more than there is room for. */
async function decodeWith(
  create: CreateDecoder,
  body: Buffer,
  { maxBytes, tooLarge, take }: DecodeOptions,
): Promise<Buffer> {
  const chunkSize = Math.min(MAX_CHUNK_BYTES, Math.max(MIN_CHUNK_BYTES, 8 * body.length));
  const decoder = create({ chunkSize });
  decoder.end(body);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of decoder) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    await take(chunk.length);
    chunks.push(chunk);
  }
  return joinChunks(chunks, size);
}

function decodeZstd(body: Buffer, { maxBytes, tooLarge, take }: DecodeOptions): Promise<Buffer> {
  return unzstdInThread(body, { maxOutputLength: maxBytes, take }).catch((error) => {
    throw error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : error;
  });
}

/** Decodes an answer of a server that ignored `accept-encoding: identity`. Undefined if that fails. */
export function decompressSync(body: Buffer, encoding = 'identity', maxBytes: number): Buffer | undefined {
  if (encoding === 'identity') return body;
  try {
    return encodingOf(encoding)?.sync?.(body, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}

/** Several times what the largest bodies take. */
const MAX_MS = 10_000;

/** One thread for the process: it starts with the first body and ends when it has been idle for a minute. */
const calls = createWorkerCalls<UnzstdRequest, UnzstdAnswer>({
  name: 'zstd decoder',
  startWorker: () => startBuiltWorker('unzstd-worker'),
});
let last: Promise<unknown> = Promise.resolve();

/** The thread has failed, which is no fault of the body. */
class DecoderFailed extends Error {}

interface UnzstdOptions {
  maxOutputLength: number;
  clock?: Clock;
  /** Takes memory for what has been decoded; may wait, and throws where there is none. */
  take?: (bytes: number) => Promise<void> | undefined;
}

/**
 * Decodes zstd where Node doesn't, or not reliably. Rejects as `zlib` does: a body that grows too large has the code
 * `ERR_BUFFER_TOO_LARGE`. Bodies are decoded one after the other, as one that takes too long stops the thread, and the
 * next is not decoded before there is room for the last.
 */
export function unzstdInThread(body: Buffer, options: UnzstdOptions): Promise<Buffer> {
  const decoded = last.then(async () => {
    const bytes = await decode(body, options);
    await options.take?.(bytes.length);
    return bytes;
  });
  last = decoded.catch(() => {});
  return decoded;
}

async function decode(
  body: Buffer,
  { maxOutputLength, clock = systemClock }: UnzstdOptions,
): Promise<Buffer> {
  let isLate = false;
  const cancel = clock.after(MAX_MS, () => {
    isLate = true;
    void calls.restart();
  });
  try {
    const answer = await calls.call({ body, maxBytes: maxOutputLength }).catch((cause: unknown) => {
      if (isLate) throw new Error(`it takes longer than ${MAX_MS} ms to decode`);
      throw new DecoderFailed(messageOf(cause), { cause });
    });
    if ('invalid' in answer) throw new Error(answer.invalid);
    if (answer.bytes) return Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.length);
    throw Object.assign(new Error('the decoded body is too large'), { code: 'ERR_BUFFER_TOO_LARGE' });
  } finally {
    cancel();
  }
}

/** The chunks as one buffer, of shared memory if there are several: the optimizer's thread reads it without a copy. */
export function joinChunks(chunks: readonly Buffer[], size: number): Buffer {
  const [first = Buffer.alloc(0)] = chunks;
  if (chunks.length < 2) return first;
  const bytes = Buffer.from(new SharedArrayBuffer(size));
  let end = 0;
  for (const chunk of chunks) end += copyBytes(chunk, bytes, end);
  return bytes;
}
