import type { Transform } from 'node:stream';

/** Node's decoder of zstd in one call. */
export type DecodeZstdSync = (
  body: Buffer,
  options: { maxOutputLength: number; info: true },
) => { buffer: Buffer; engine: { bytesWritten: number } };

/** Each costs a decoder, and the process waits for it. */
const MAX_FRAMES = 1_000;

/** Before Node 26, `zstdDecompressSync` decodes the first frame and ignores the rest: the rest is decoded in further calls. */
export function decodeFramesSync(
  decode: DecodeZstdSync,
  body: Buffer,
  { maxOutputLength }: { maxOutputLength: number },
): Buffer {
  const parts: Buffer[] = [];
  let room = maxOutputLength;
  let rest = body;
  do {
    if (parts.length === MAX_FRAMES) throw new Error(`it has more than ${MAX_FRAMES} zstd frames`);
    const { buffer, engine } = decode(rest, { maxOutputLength: room, info: true });
    parts.push(buffer);
    room -= buffer.length;
    rest = rest.subarray(engine.bytesWritten);
  } while (rest.length > 0);
  return Buffer.concat(parts);
}

/** Before Node 26, a decoder ends after a frame that ends within a chunk: this one is given the rest of the chunk again. */
export function decodeFrames(decoder: Transform & { bytesWritten: number }): Transform {
  const push = decoder.push.bind(decoder);
  const transform = decoder._transform.bind(decoder);
  const flush = decoder._flush.bind(decoder);
  let isFlushed = false;
  decoder.push = (chunk) => (chunk === null && !isFlushed ? true : push(chunk));
  decoder._transform = (chunk: Buffer, encoding, done) => {
    const before = decoder.bytesWritten;
    transform(chunk, encoding, (error) => {
      const read = decoder.bytesWritten - before;
      const rest = chunk.subarray(read);
      if (error || read === 0 || rest.length === 0) done(error);
      else decoder._transform(rest, encoding, done);
    });
  };
  decoder._flush = (done) =>
    flush((error) => {
      isFlushed = true;
      done(error);
    });
  return decoder;
}
