import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import { badRequest, messageOf } from '../../errors.ts';

type Decode = (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

/** Missing from older versions of Node. */
const { zstdDecompress } = zlib as { zstdDecompress?: typeof zlib.gunzip };

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: promisify(zlib.gunzip) as Decode,
  'x-gzip': promisify(zlib.gunzip) as Decode,
  deflate: promisify(zlib.inflate) as Decode,
  br: promisify(zlib.brotliDecompress) as Decode,
  ...(zstdDecompress ? { zstd: promisify(zstdDecompress) as Decode } : {}),
};

/** Whether gw reads bodies of this `content-encoding`, and sends them on decoded. */
export function canDecompress(encoding: string): boolean {
  return Object.hasOwn(DECODERS, encoding.trim().toLowerCase());
}

/** A body without its encoding. Throws GwError 400 for what is not encoded so, and `tooLarge` where it grows too far. */
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
    throw badRequest(`the body is not ${encoding}, as its content-encoding says (${messageOf(error)})`);
  }
}

/** A body unencoded, which gw asks for but not every server listens to; undefined where that can't be had. */
export function decompressSync(body: Buffer, encoding = 'identity', maxBytes: number): Buffer | undefined {
  if (encoding === 'identity') return body;
  if (encoding !== 'gzip') return undefined;
  try {
    return zlib.gunzipSync(body, { maxOutputLength: maxBytes });
  } catch {
    return undefined;
  }
}
