/**
 * Copies `source` into `target` at `to` and returns the number of bytes. In shared memory `Buffer.copy` takes 70 us for
 * 100 kB, because V8 copies word by word or byte by byte; `Buffer.fill` takes 15 us.
 */
export function copyBytes(source: Buffer, target: Buffer, to: number): number {
  if (source.length > 0) target.fill(source, to, to + source.length);
  return source.length;
}
