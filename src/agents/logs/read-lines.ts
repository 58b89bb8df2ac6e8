import { open } from 'node:fs/promises';

const CHUNK_BYTES = 1024 * 1024;
/** Longer lines are not kept in memory. */
const MAX_LINE_BYTES = 64 * CHUNK_BYTES;
const NEW_LINE = 10;

/**
 * Calls `onLine` with each complete line of a file, without its end; undefined stands for one that is too long. A last
 * line without an end is being written. Returns false if `isOver` said so before the end of the file.
 */
export async function readLines(
  path: string,
  onLine: (line: Buffer | undefined) => void,
  isOver: () => boolean = () => false,
): Promise<boolean> {
  const file = await open(path);
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    /** The beginning of a line. */
    let parts: Buffer[] = [];
    let size = 0;
    const add = (part: Buffer) => {
      size += part.length;
      if (size > MAX_LINE_BYTES) parts = [];
      else parts.push(part);
    };
    for (;;) {
      if (isOver()) return false;
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
      if (bytesRead === 0) return true;
      let start = 0;
      for (let end: number; ; start = end + 1) {
        end = chunk.indexOf(NEW_LINE, start);
        if (end < 0 || end >= bytesRead) break;
        const part = chunk.subarray(start, end);
        if (size === 0) onLine(part);
        else {
          add(part);
          onLine(size > MAX_LINE_BYTES ? undefined : Buffer.concat(parts, size));
          parts = [];
          size = 0;
        }
      }
      if (start < bytesRead) add(Buffer.from(chunk.subarray(start, bytesRead)));
    }
  } finally {
    await file.close();
  }
}
