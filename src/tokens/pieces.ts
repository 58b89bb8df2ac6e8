import type { Encoding } from './encoding.ts';

/** Returns the end of the piece that starts at bytes[start]; the bytes must be valid UTF-8. */
export type EndOfPiece = (bytes: Uint8Array, start: number) => number;

/**
 * The split pattern of each encoding: pieces of a text are encoded separately. The lines are the alternatives of
 * tiktoken's regular expression, in order. Written by hand because V8 overflows its stack on 4 million letters in a
 * row, and the expression takes as long as all the rest together.
 */
export const endOfPiece: Record<Encoding, EndOfPiece> = {
  o200k_base: (bytes, start) =>
    endOfCasedWord(bytes, start) ??
    endOfNumber(bytes, start) ??
    endOfSymbols(bytes, start, CR_LF_SLASH) ??
    endOfSpaces(bytes, start),
  cl100k_base: (bytes, start) =>
    endOfContraction(bytes, start) ??
    endOfWord(bytes, start) ??
    endOfNumber(bytes, start) ??
    endOfSymbols(bytes, start, CR_LF) ??
    endOfSpaces(bytes, start),
};

const CR_LF = [0x0d, 0x0a];
const CR_LF_SLASH = [...CR_LF, 0x2f];
const BLANK = 0x20;
const APOSTROPHE = 0x27;

/** `[^\r\n\p{L}\p{N}]?\p{L}+` */
function endOfWord(bytes: Uint8Array, start: number): number | undefined {
  return endOfSome(bytes, afterPrefix(bytes, start), LETTER);
}

/**
 * `[^\r\n\p{L}\p{N}]?[UPPER]*[LOWER]+('s|...)?`, or else `[^\r\n\p{L}\p{N}]?[UPPER]+[LOWER]*('s|...)?`. A mark matches
 * prefix, UPPER and LOWER. It is not taken as the prefix if the first alternative needs it as its LOWER.
 */
function endOfCasedWord(bytes: Uint8Array, start: number): number | undefined {
  const word = afterPrefix(bytes, start);
  const end = endOfLowerWord(bytes, word) ?? endOfLowerWord(bytes, start) ?? endOfSome(bytes, word, UPPER);
  return end && (endOfContraction(bytes, end) ?? end);
}

/** `[UPPER]*[LOWER]+`. If no LOWER follows, the expression backtracks to the last LOWER of its first part. */
function endOfLowerWord(bytes: Uint8Array, start: number): number | undefined {
  let lastLower: number | undefined;
  let end = start;
  while (end < bytes.length) {
    const bits = classAt(bytes, end);
    if ((bits & UPPER) === 0) break;
    end = after(bytes, end);
    if ((bits & LOWER) !== 0) lastLower = end;
  }
  return endOfSome(bytes, end, LOWER) ?? lastLower;
}

/** `[^\r\n\p{L}\p{N}]?` */
function afterPrefix(bytes: Uint8Array, start: number): number {
  return (classAt(bytes, start) & (NEWLINE | LETTER | NUMBER)) === 0 ? after(bytes, start) : start;
}

/** `('s|'S|'t|'T|'re|'rE|'Re|'RE|'ve|'vE|'Ve|'VE|'m|'M|'ll|'lL|'Ll|'LL|'d|'D)` */
function endOfContraction(bytes: Uint8Array, start: number): number | undefined {
  if (bytes[start] !== APOSTROPHE) return undefined;
  const text = String.fromCharCode(...bytes.subarray(start, start + 3));
  const contraction = /^'([stmd]|re|ve|ll)/i.exec(text);
  return contraction ? start + contraction[0].length : undefined;
}

/** `\p{N}{1,3}` */
function endOfNumber(bytes: Uint8Array, start: number): number | undefined {
  let end = start;
  for (let digits = 0; digits < 3 && end < bytes.length; digits++) {
    if ((classAt(bytes, end) & NUMBER) === 0) break;
    end = after(bytes, end);
  }
  return end > start ? end : undefined;
}

/** ` ?[^\s\p{L}\p{N}]+[\r\n]*`, where `tail` has the bytes of the last part. */
function endOfSymbols(bytes: Uint8Array, start: number, tail: number[]): number | undefined {
  let end = endOfSome(bytes, bytes[start] === BLANK ? start + 1 : start, SYMBOL);
  while (end && tail.includes(bytes[end] ?? 0)) end++;
  return end;
}

/** `\s*[\r\n]+`, or else `\s+(?!\S)`, which leaves the last space to the next piece, or else `\s+`. */
function endOfSpaces(bytes: Uint8Array, start: number): number {
  let afterNewline = start;
  let last = start;
  let end = start;
  while (end < bytes.length) {
    const bits = classAt(bytes, end);
    if ((bits & SPACE) === 0) break;
    last = end;
    end = after(bytes, end);
    if ((bits & NEWLINE) !== 0) afterNewline = end;
  }
  if (afterNewline > start) return afterNewline;
  return end === bytes.length || last === start ? end : last;
}

/** The end of one or more characters whose class is in `mask`; undefined if there is none. */
function endOfSome(bytes: Uint8Array, start: number, mask: number): number | undefined {
  const end = endOfRun(bytes, start, mask);
  return end > start ? end : undefined;
}

/** A character's class in the encodings' patterns: a non-empty set of these bits. */
const LETTER = 1;
/** \p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}: the first part of a cased word. */
const UPPER = 2;
/** \p{Ll} \p{Lm} \p{Lo} \p{M}: the second part. */
const LOWER = 4;
const NUMBER = 8;
const SPACE = 16;
const NEWLINE = 32;
/** Neither letter, number nor space. Marks, such as combining accents, are symbols too. */
const SYMBOL = 64;

const CODE_POINTS = 0x110000;

/** Filled on demand from the engine's Unicode tables: most texts use few characters. */
const classes = new Uint8Array(CODE_POINTS);

/** The class of the character that starts at bytes[at], in valid UTF-8. */
function classAt(bytes: Uint8Array, at: number): number {
  const codePoint = codePointAt(bytes, at);
  const cached = classes[codePoint] as number;
  if (cached !== 0) return cached;
  const bits = classify(String.fromCodePoint(codePoint));
  classes[codePoint] = bits;
  return bits;
}

/** The start of the character after the one at bytes[at]. */
function after(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  if (lead < 0x80) return at + 1;
  if (lead < 0xe0) return at + 2;
  return lead < 0xf0 ? at + 3 : at + 4;
}

/** The end of the run of characters from bytes[at] on whose class is in `mask`. */
function endOfRun(bytes: Uint8Array, at: number, mask: number): number {
  let end = at;
  while (end < bytes.length && (classAt(bytes, end) & mask) !== 0) end = after(bytes, end);
  return end;
}

function codePointAt(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  if (lead < 0x80) return lead;
  if (lead < 0xe0) return ((lead & 0x1f) << 6) | low(bytes, at + 1);
  if (lead < 0xf0) return ((lead & 0x0f) << 12) | (low(bytes, at + 1) << 6) | low(bytes, at + 2);
  return ((lead & 0x07) << 18) | (low(bytes, at + 1) << 12) | (low(bytes, at + 2) << 6) | low(bytes, at + 3);
}

/** The six bits of a continuation byte. */
const low = (bytes: Uint8Array, at: number): number => (bytes[at] as number) & 0x3f;

function classify(character: string): number {
  if (/[\p{Lu}\p{Lt}]/u.test(character)) return LETTER | UPPER;
  if (/\p{Ll}/u.test(character)) return LETTER | LOWER;
  if (/\p{L}/u.test(character)) return LETTER | UPPER | LOWER;
  if (/\p{M}/u.test(character)) return SYMBOL | UPPER | LOWER;
  if (/\p{N}/u.test(character)) return NUMBER;
  if (/[\r\n]/u.test(character)) return SPACE | NEWLINE;
  return /\s/u.test(character) ? SPACE : SYMBOL;
}
