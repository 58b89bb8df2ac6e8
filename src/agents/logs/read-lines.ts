import { open } from 'node:fs/promises';

const CHUNK_BYTES = 1024 * 1024;
/** Longer lines are discarded. */
const MAX_LINE_BYTES = 64 * CHUNK_BYTES;
const NEW_LINE = 10;

/** Receives each complete line without its line ending; undefined for a line that is too long. */
export type OnLine = (line: Buffer | undefined) => void;

interface ReadLinesOptions {
  onLine: OnLine;
  /** Called with the number of bytes read from disk. */
  onBytes?: ((bytes: number) => void) | undefined;
  /** Stops reading when it returns true. */
  isOver?: (() => boolean) | undefined;
}

/** Reads the lines of a file. Returns false if `isOver` stopped it before the end. */
export type LineReader = (path: string, options: ReadLinesOptions) => Promise<boolean>;

/** Reads a text file, plain or zstd (`.zst`). Skips an unterminated last line, which is still being written. */
export const readLines: LineReader = async (path, { onLine, onBytes, isOver = () => false }) => {
  const file = await open(path);
  try {
    const split = createLineSplitter(onLine);
    const push = path.endsWith('.zst') ? await decompressor(split) : split;
    const { size } = await file.stat();
    let done = 0;
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (;;) {
      if (isOver()) return false;
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES);
      if (bytesRead === 0) return true;
      done += bytesRead;
      push(chunk.subarray(0, bytesRead), done >= size);
      onBytes?.(bytesRead);
    }
  } finally {
    await file.close();
  }
};

/** Splits chunks into lines. The caller may reuse a chunk's memory. */
export function createLineSplitter(onLine: OnLine): (chunk: Buffer) => void {
  /** Chunks of an incomplete line. */
  let parts: Buffer[] = [];
  let size = 0;
  const add = (part: Buffer) => {
    size += part.length;
    if (size > MAX_LINE_BYTES) parts = [];
    else parts.push(part);
  };
  return (chunk) => {
    let start = 0;
    for (let end: number; ; start = end + 1) {
      end = chunk.indexOf(NEW_LINE, start);
      if (end < 0) break;
      const part = chunk.subarray(start, end);
      if (size === 0) onLine(part);
      else {
        add(part);
        onLine(size > MAX_LINE_BYTES ? undefined : Buffer.concat(parts, size));
        parts = [];
        size = 0;
      }
    }
    if (start < chunk.length) add(Buffer.from(chunk.subarray(start)));
  };
}

/** Decompresses zstd frames. Throws for invalid data, and after the last chunk for an incomplete frame. */
async function decompressor(
  push: (chunk: Buffer) => void,
): Promise<(chunk: Buffer, isLast: boolean) => void> {
  const { Decompress } = await import('fzstd');
  const stream = new Decompress((data) => push(Buffer.from(data.buffer, data.byteOffset, data.length)));
  // The decompressor retains undecoded input, so it gets a copy.
  return (chunk, isLast) => stream.push(new Uint8Array(chunk), isLast);
}
