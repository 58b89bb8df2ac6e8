import type { Transform } from 'node:stream';
import * as zlib from 'node:zlib';
import { badRequest, GwError, messageOf } from '../../errors.ts';
import { ClientGone } from './client-gone.ts';
import { joinChunks } from './join-chunks.ts';
import { unzstdInThread } from './unzstd.ts';

interface DecodeOptions {
  maxBytes: number;
  /** The error above `maxBytes`. */
  tooLarge: () => GwError;
  /** Takes memory for what has been decoded; may wait, and throws where there is none. */
  take: (bytes: number) => Promise<void> | undefined;
}

type CreateDecoder = (options: zlib.ZlibOptions) => Transform;

/** Undefined before Node 22.15. */
const { createZstdDecompress } = zlib as { createZstdDecompress?: CreateDecoder };

const DECODERS: Readonly<Record<string, (body: Buffer, options: DecodeOptions) => Promise<Buffer>>> = {
  gzip: decodeWith(zlib.createGunzip),
  'x-gzip': decodeWith(zlib.createGunzip),
  deflate: decodeWith(zlib.createInflate),
  br: decodeWith(zlib.createBrotliDecompress),
  zstd: createZstdDecompress ? decodeWith(createZstdDecompress) : decodeZstd,
};

/** Whether gw can decode this `content-encoding`. */
export function canDecompress(encoding: string): boolean {
  return Object.hasOwn(DECODERS, encoding.trim().toLowerCase());
}

/** Decodes a request body. Throws GwError 400 for invalid data, `tooLarge()` above `maxBytes`, and what `take` throws. */
export async function decompress(body: Buffer, encoding: string, options: DecodeOptions): Promise<Buffer> {
  const decode = DECODERS[encoding.trim().toLowerCase()];
  if (!decode) return body;
  try {
    return await decode(body, options);
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
function decodeWith(create: CreateDecoder) {
  return async (body: Buffer, { maxBytes, tooLarge, take }: DecodeOptions): Promise<Buffer> => {
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
  };
}

function decodeZstd(body: Buffer, { maxBytes, tooLarge, take }: DecodeOptions): Promise<Buffer> {
  return unzstdInThread(body, { maxOutputLength: maxBytes, take }).catch((error) => {
    throw error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : error;
  });
}

type DecodeSync = (body: Buffer, options: { maxOutputLength: number }) => Buffer;

const SYNC_DECODERS: Readonly<Record<string, DecodeSync | undefined>> = {
  gzip: zlib.gunzipSync,
  'x-gzip': zlib.gunzipSync,
  deflate: zlib.inflateSync,
  br: zlib.brotliDecompressSync,
  // Undefined before Node 22.15: fzstd may not come to an end, and would keep everybody waiting.
  zstd: (zlib as { zstdDecompressSync?: DecodeSync }).zstdDecompressSync,
};

/** Decodes an answer of a server that ignored `accept-encoding: identity`. Undefined if that fails. */
export function decompressSync(body: Buffer, encoding = 'identity', maxBytes: number): Buffer | undefined {
  if (encoding === 'identity') return body;
  const decode = SYNC_DECODERS[encoding.trim().toLowerCase()];
  try {
    return decode?.(body, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}
