import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;
const CHUNK_BYTES = 64 * 1024;

export interface FollowOptions {
  print(line: string): void;
  /** How many of the last lines to print first. */
  lines: number;
  signal?: AbortSignal;
}

/** Prints the lines of a file as they are appended, across rotations, until the signal aborts. */
export async function followFile(file: string, { print, lines, signal }: FollowOptions): Promise<void> {
  let reader = openReader(file);
  reader
    ?.read()
    .slice(-lines || Number.POSITIVE_INFINITY)
    .forEach(print);
  while (!signal?.aborted) {
    await sleep(POLL_MS, undefined, signal ? { signal } : {}).catch(() => undefined);
    reader?.read().forEach(print);
    if (reader && !reader.isReplaced()) continue;
    // Lines written between the last read and the rotation.
    reader?.read().forEach(print);
    reader?.close();
    reader = openReader(file);
    reader?.read().forEach(print);
  }
  reader?.close();
}

interface Reader {
  /** The complete lines appended since the last call. */
  read(): string[];
  /** Whether the path now names another file, or this file was truncated. */
  isReplaced(): boolean;
  close(): void;
}

function openReader(file: string): Reader | undefined {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return undefined;
  }
  const { ino } = fstatSync(fd);
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let position = 0;
  let rest = '';
  return {
    read() {
      for (let size = -1; size !== 0; position += size) {
        size = readSync(fd, buffer, 0, CHUNK_BYTES, position);
        rest += decoder.write(buffer.subarray(0, size));
      }
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      return lines;
    },
    isReplaced() {
      const now = statSync(file, { throwIfNoEntry: false });
      return now === undefined || now.ino !== ino || now.size < position;
    },
    close: () => closeSync(fd),
  };
}
