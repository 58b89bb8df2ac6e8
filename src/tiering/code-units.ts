import { endianness } from 'node:os';

const HEAD_CHARS = 6_000;
const TAIL_CHARS = 2_000;
/** Head, tail and the line end between them, and one unit behind the end, which is 0. */
const MOST_UNITS = HEAD_CHARS + TAIL_CHARS + 2;

// Scratch space for one text at a time: to read a typed array takes a third of the time of `charCodeAt`.
const units = new Uint16Array(MOST_UNITS);
const bytes = Buffer.from(units.buffer);

/** The part of a long text that is looked at: its beginning and its end, where the request usually stands. */
export function excerpt(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  return `${text.slice(0, HEAD_CHARS)}\n${text.slice(-TAIL_CHARS)}`;
}

/** The UTF-16 code units of a text's excerpt, and a 0 behind them. Good until the next call. */
export function codeUnits(text: string): { units: Uint16Array; length: number } {
  const read = excerpt(text);
  bytes.write(read, 'utf16le');
  if (endianness() === 'BE') bytes.subarray(0, 2 * read.length).swap16();
  units[read.length] = 0;
  return { units, length: read.length };
}
