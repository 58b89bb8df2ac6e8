import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { badRequest, messageOf } from '../../errors.ts';
import { unzstd } from './unzstd.ts';

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: promisify(zlib.gunzip) as Decode,
  'x-gzip': promisify(zlib.gunzip) as Decode,
  deflate: promisify(zlib.inflate) as Decode,
  br: promisify(zlib.brotliDecompress) as Decode,
  zstd: unzstd,
};

/** Whether gw can decode this `content-encoding`. */
export function canDecompress(encoding: string): boolean {
  return Object.hasOwn(DECODERS, encoding.trim().toLowerCase());
}

/** Decodes a request body. Throws GwError 400 for invalid data, and `tooLarge()` above `maxBytes`. */
export async function decompress(
  body: Buffer,
  encoding: string,
  { maxBytes, tooLarge }: { maxBytes: number; tooLarge: () => Error },
): Promise<Buffer> {
  const decode = DECODERS[encoding.trim().toLowerCase()];
  if (!decode) return body;
  try {
    return await decode(body, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw badRequest(
      `the body is not valid ${encoding}, which its content-encoding header names (${messageOf(error)})`,
    );
  }
}

/** Decodes an answer of a server that ignored `accept-encoding: identity`. Undefined if that fails. */
export function decompressSync(body: Buffer, encoding = 'identity', maxBytes: number): Buffer | undefined {
  if (encoding === 'identity') return body;
  if (encoding !== 'gzip') return undefined;
  try {
    return zlib.gunzipSync(body, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}
