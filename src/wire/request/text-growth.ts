import { BACKSLASH, CLOSE_BRACE, COMMA, QUOTE, type Range, SPACE } from '../../json/bytes.ts';
import { unitAt } from '../../json/plain-letters.ts';
import type { EarlierPrompt } from './prompt-block.ts';

/**
 * Tokens by which a text can exceed its bytes. A byte-level token is at least a byte, but some tokenizers normalise the
 * text first, and templates write JSON anew. Decodes only what isn't ASCII.
 */
export function normalizationGrowth(bytes: Buffer): number {
  const words = wordsOf(bytes);
  let growth = 0;
  for (let start = nextNotAscii(bytes, words, 0); start < bytes.length; ) {
    let end = start + 1;
    while (isNotAscii(bytes, end)) end++;
    const text = bytes.toString('utf8', start, end);
    growth += growthOf(text, Buffer.byteLength(text));
    start = nextNotAscii(bytes, words, end);
  }
  return growth + growthOfEscapes(bytes);
}

/** The same for a prompt that begins as an earlier one does; undefined if that one's growth isn't known. */
export function continuedGrowth({ entry: prompt, shared }: EarlierPrompt, bytes: Buffer): number | undefined {
  if (prompt.growth === undefined) return undefined;
  // No brace is part of what grows, so the growth of two parts that meet at one adds up.
  const start = bytes.lastIndexOf(CLOSE_BRACE, shared - 1) + 1;
  const before = prompt.growth - normalizationGrowth(prompt.bytes.subarray(start));
  return before + normalizationGrowth(bytes.subarray(start));
}

const isNotAscii = (bytes: Buffer, at: number): boolean => (bytes[at] ?? 0) >= 0x80;

const WORD = 4;

/** The bytes in words of four, which are read in a fourth of the time; `offset` is where the first word begins. */
interface Words {
  words: Uint32Array;
  offset: number;
}

function wordsOf({ buffer, byteOffset, length }: Buffer): Words {
  const offset = (WORD - (byteOffset % WORD)) % WORD;
  const count = Math.max(0, Math.floor((length - offset) / WORD));
  return { words: count === 0 ? NO_WORDS : new Uint32Array(buffer, byteOffset + offset, count), offset };
}

const NO_WORDS = new Uint32Array(0);

/** Offset of the next byte beyond ASCII, from `start`; the length if there is none. */
function nextNotAscii(bytes: Buffer, { words, offset }: Words, start: number): number {
  let at = start;
  while (at < bytes.length && !isNotAscii(bytes, at)) {
    if ((at - offset) % WORD !== 0) at++;
    else {
      let word = (at - offset) / WORD;
      while (word < words.length && ((words[word] ?? 0) & NOT_ASCII) === 0) word++;
      // The byte is in this word, or after the last one.
      at = Math.max(at + 1, word * WORD + offset);
    }
  }
  return Math.min(at, bytes.length);
}

const NOT_ASCII = 0x80808080;

/** The growth of characters that JSON escapes: six bytes for each UTF-16 unit. */
function growthOfEscapes(bytes: Buffer): number {
  let growth = 0;
  for (let at = bytes.indexOf(ESCAPE); at >= 0; at = bytes.indexOf(ESCAPE, at)) {
    const start = at;
    const units: number[] = [];
    for (let unit = unitAt(bytes, at); unit !== undefined; unit = unitAt(bytes, at)) {
      at += ESCAPE_LENGTH;
      // These stay as they are, and shrink by half; what stands around one is not composed. Python's json writes Chinese so.
      const isIdeograph = unit >= FIRST_IDEOGRAPH && unit <= LAST_IDEOGRAPH;
      if (isIdeograph ? units.length > 0 : units.push(unit) === MAX_UNITS) break;
    }
    growth += growthOf(String.fromCharCode(...units), units.length * ESCAPE_LENGTH);
    if (at === start) at++;
  }
  return growth;
}

const ESCAPE = Buffer.from('\\u');
const MAX_UNITS = 1_000;
const FIRST_IDEOGRAPH = 0x4e00;
const LAST_IDEOGRAPH = 0x9fff;

/** U+FDFA has 3 bytes, and 33 in NFKC. */
function growthOf(text: string, bytes: number): number {
  const composed = Buffer.byteLength(text.normalize('NFC'));
  const compatible = Buffer.byteLength(text.normalize('NFKC'));
  return Math.max(0, composed - bytes, compatible - bytes);
}

const LETTER_U = 0x75;
/** The length of `\u4e2d`. */
const ESCAPE_LENGTH = 6;

const TOOL_MARKS = ['"tool', '"function'].map((mark) => Buffer.from(mark));

/** Bytes by which JSON in these ranges can grow when a template writes it anew. Default: all, if there are tools. */
export function rewriteGrowth(bytes: Buffer, ranges?: readonly Range[]): number {
  if (!ranges) {
    const mayHaveTools = TOOL_MARKS.some((mark) => bytes.indexOf(mark) >= 0);
    return mayHaveTools ? growthOfRange(bytes, { start: 0, end: bytes.length }) : 0;
  }
  return ranges.reduce((sum, range) => sum + growthOfRange(bytes, range), 0);
}

/**
 * Bytes by which JSON can grow when a template writes it anew: HTML escapes for four characters, `\uXXXX` for everything
 * beyond ASCII, and a line with its indent for each member, element and closing bracket. A string may hold JSON in turn,
 * as the arguments of a call do: then it is JSON from its beginning.
 */
function growthOfRange(bytes: Buffer, { start, end }: Range): number {
  let growth = 0;
  let depth = 0;
  let isString = false;
  let holdsJson = false;
  /** Within a string: the depth of the JSON that it may hold, and whether that is in a string of its own. */
  let innerDepth = 0;
  let isInnerString = false;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (COUNTS[byte] === 0) continue;
    if (byte >= 0x80) growth += unitsAt(byte) * ESCAPE_LENGTH;
    else if (byte === QUOTE) {
      isString = !isString;
      holdsJson = isString && beginsJson(bytes, i + 1);
      innerDepth = 0;
      isInnerString = false;
    } else if (byte === BACKSLASH) {
      i++;
      if (bytes[i] === QUOTE) isInnerString = !isInnerString;
      // A backslash of the inner text, and what it escapes, which ends no string there.
      else if (bytes[i] === BACKSLASH && bytes[i + 1] === BACKSLASH) i += 2;
    } else if (isHtml(byte)) growth += ESCAPE_LENGTH - 1;
    else if (isInnerString || (isString && !holdsJson)) continue;
    else if (byte === COMMA) growth += 2 + depth + innerDepth;
    else if (isOpening(byte)) {
      if (isString) innerDepth++;
      else depth++;
      growth += 2 + depth + innerDepth;
    } else if (isClosing(byte)) {
      growth += 2 + depth + innerDepth;
      if (isString) innerDepth = Math.max(0, innerDepth - 1);
      else depth--;
    }
  }
  return growth;
}

const SPACE_ESCAPES: ReadonlySet<number> = new Set(Buffer.from('nrt'));

/** Whether a string begins as a JSON object or array does. Any other text is JSON without structure, or none. */
function beginsJson(bytes: Buffer, start: number): boolean {
  let i = start;
  for (;;) {
    if (bytes[i] === SPACE) i++;
    else if (bytes[i] === BACKSLASH && SPACE_ESCAPES.has(bytes[i + 1] ?? 0)) i += 2;
    // The escape of any letter: it may stand for a bracket.
    else return isOpening(bytes[i] ?? 0) || (bytes[i] === BACKSLASH && bytes[i + 1] === LETTER_U);
  }
}

/** UTF-16 units of the character that begins with a byte; 0 for the bytes that follow. */
function unitsAt(byte: number): number {
  if (byte < 0xc0) return 0;
  return byte >= 0xf0 ? 2 : 1;
}

/** `<`, `>`, `&` and `'`. */
const isHtml = (byte: number): boolean => byte === 0x3c || byte === 0x3e || byte === 0x26 || byte === 0x27;
const isOpening = (byte: number): boolean => byte === 0x7b || byte === 0x5b;
const isClosing = (byte: number): boolean => byte === 0x7d || byte === 0x5d;

/** Whether `growthOfRange` has to look at a byte: one of ten in a text. */
const COUNTS = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(
    byte >= 0x80 ||
      byte === QUOTE ||
      byte === BACKSLASH ||
      byte === COMMA ||
      isHtml(byte) ||
      isOpening(byte) ||
      isClosing(byte),
  ),
);
