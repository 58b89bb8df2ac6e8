import { Decompress } from 'fzstd';

/**
 * Decodes zstd frames; undefined if they grow beyond `maxBytes`. Throws for invalid data. Damaged data can make fzstd
 * loop for ever, so only a thread with a deadline may call this.
 */
export function decodeZstd(body: Uint8Array, maxBytes: number): Uint8Array | undefined {
  if (!fitsInMemory(body, maxBytes)) return undefined;
  const parts: Uint8Array[] = [];
  let size = 0;
  const decoder = new Decompress((part) => {
    size += part.length;
    if (size > maxBytes) throw new TooLarge();
    parts.push(part);
  });
  try {
    decoder.push(body, true);
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
    throw error;
  }
  return Buffer.concat(parts, size);
}

class TooLarge extends Error {}

/** The window that every decoder should have: https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1.1.2 */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;

/** Checks what the frames declare: fzstd allocates a window of any size. Throws for a window that is too large. */
function fitsInMemory(body: Uint8Array, maxBytes: number): boolean {
  for (let at = 0; at < body.length; ) {
    const { contentBytes, windowBytes, end } = readFrame(body, at);
    if (contentBytes > maxBytes) return false;
    if (windowBytes > Math.max(MAX_WINDOW_BYTES, contentBytes))
      throw new Error(`its window is larger than ${MAX_WINDOW_BYTES} bytes`);
    at = end;
  }
  return true;
}

interface Frame {
  windowBytes: number;
  /** 0 if the frame doesn't declare it. */
  contentBytes: number;
  end: number;
}

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a50;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];

/** Reads a frame's header and finds its end: https://www.rfc-editor.org/rfc/rfc8878#section-3.1.1 */
function readFrame(body: Uint8Array, start: number): Frame {
  const magic = readInt(body, start, 4);
  if (magic >>> 4 === SKIPPABLE_MAGIC >>> 4) {
    return { windowBytes: 0, contentBytes: 0, end: start + 8 + readInt(body, start + 4, 4) };
  }
  if (magic !== MAGIC) throw new Error('it has no zstd frame');
  const descriptor = readInt(body, start + 4, 1);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  let at = start + 5;
  const window = isSingleSegment ? 0 : readInt(body, at++, 1);
  const dictionaryBytes = DICTIONARY_ID_BYTES[descriptor & 3] ?? 0;
  if (readInt(body, at, dictionaryBytes) !== 0) throw new Error('it needs a dictionary');
  at += dictionaryBytes;
  const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] || (isSingleSegment ? 1 : 0);
  const contentBytes = readInt(body, at, sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  const base = 2 ** (10 + (window >> 3));
  return {
    windowBytes: isSingleSegment ? contentBytes : base + (base / 8) * (window & 7),
    contentBytes,
    end: endOfBlocks(body, at + sizeBytes) + (descriptor & 4),
  };
}

const RLE_BLOCK = 1;

function endOfBlocks(body: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    const header = readInt(body, at, 3);
    at += 3 + (((header >> 1) & 3) === RLE_BLOCK ? 1 : header >> 3);
    if (header & 1) return at;
  }
}

/** A little-endian number of up to 8 bytes. */
function readInt(body: Uint8Array, at: number, bytes: number): number {
  if (at + bytes > body.length) throw new Error('unexpected end');
  let value = 0;
  for (let i = bytes - 1; i >= 0; i--) value = value * 256 + (body[at + i] ?? 0);
  return value;
}
