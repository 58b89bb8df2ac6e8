import { copyBytes } from '../../json/copy-bytes.ts';

/** The chunks as one buffer, of shared memory if there are several: the optimizer's thread reads it without a copy. */
export function joinChunks(chunks: readonly Buffer[], size: number): Buffer {
  const [first = Buffer.alloc(0)] = chunks;
  if (chunks.length < 2) return first;
  const bytes = Buffer.from(new SharedArrayBuffer(size));
  let end = 0;
  for (const chunk of chunks) end += copyBytes(chunk, bytes, end);
  return bytes;
}
