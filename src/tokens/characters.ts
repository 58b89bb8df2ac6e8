/** A character's class in the encodings' patterns: a non-empty set of these bits. */
export const LETTER = 1;
/** \p{Lu} \p{Lt} \p{Lm} \p{Lo} \p{M}: the first part of a cased word. */
export const UPPER = 2;
/** \p{Ll} \p{Lm} \p{Lo} \p{M}: the second part. */
export const LOWER = 4;
export const NUMBER = 8;
export const SPACE = 16;
export const NEWLINE = 32;
/** Neither letter, number nor space. Marks, such as combining accents, are symbols too. */
export const SYMBOL = 64;

const CODE_POINTS = 0x110000;

/** Filled on demand from the engine's Unicode tables: most texts use few characters. */
const classes = new Uint8Array(CODE_POINTS);

/** The class of the character that starts at bytes[at], in valid UTF-8. */
export function classAt(bytes: Uint8Array, at: number): number {
  const codePoint = codePointAt(bytes, at);
  const cached = classes[codePoint] as number;
  if (cached !== 0) return cached;
  const bits = classify(String.fromCodePoint(codePoint));
  classes[codePoint] = bits;
  return bits;
}

/** The start of the character after the one at bytes[at]. */
export function after(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  if (lead < 0x80) return at + 1;
  if (lead < 0xe0) return at + 2;
  return lead < 0xf0 ? at + 3 : at + 4;
}

/** The end of the run of characters from bytes[at] on whose class is in `mask`. */
export function endOfRun(bytes: Uint8Array, at: number, mask: number): number {
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
function low(bytes: Uint8Array, at: number): number {
  return (bytes[at] as number) & 0x3f;
}

function classify(character: string): number {
  if (/[\p{Lu}\p{Lt}]/u.test(character)) return LETTER | UPPER;
  if (/\p{Ll}/u.test(character)) return LETTER | LOWER;
  if (/\p{L}/u.test(character)) return LETTER | UPPER | LOWER;
  if (/\p{M}/u.test(character)) return SYMBOL | UPPER | LOWER;
  if (/\p{N}/u.test(character)) return NUMBER;
  if (/[\r\n]/u.test(character)) return SPACE | NEWLINE;
  return /\s/u.test(character) ? SPACE : SYMBOL;
}
