import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const MAX_TAIL_BYTES = 1024 * 1024;

/** The last lines of a file after the first `from` bytes. Empty if there is no file. */
export function tailOf(file: string, lines: number, from = 0): string[] {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  try {
    const { size } = fstatSync(fd);
    // A file smaller than `from` was rotated.
    const start = Math.max(from <= size ? from : 0, size - MAX_TAIL_BYTES);
    const buffer = Buffer.alloc(size - start);
    readSync(fd, buffer, 0, buffer.length, start);
    return buffer.toString('utf8').split('\n').filter(Boolean).slice(-lines);
  } finally {
    closeSync(fd);
  }
}
