import { isAscii } from 'node:buffer';

/**
 * Tokens by which a text can exceed its bytes. A byte-level token is at least a byte, but some tokenizers normalise the
 * text first, and templates write JSON anew.
 */
export function normalizationGrowth(bytes: Buffer): number {
  const isPlain = isAscii(bytes);
  if (isPlain && bytes.indexOf(ESCAPE) < 0) return 0;
  const text = bytes.toString('utf8');
  let growth = 0;
  if (!isPlain) for (const [run] of text.matchAll(NOT_ASCII)) growth += growthOf(run, Buffer.byteLength(run));
  for (const [run] of text.matchAll(ESCAPES)) {
    // Six bytes of JSON for each UTF-16 unit.
    growth += growthOf(String.fromCharCode(...unitsOf(run)), run.length);
  }
  return growth;
}

const ESCAPE = Buffer.from('\\u');
const NOT_ASCII = /[^\0-\x7f]+/g;
const ESCAPES = /(?:\\u[\da-fA-F]{4}){1,1000}/g;

function unitsOf(escapes: string): number[] {
  return escapes
    .slice(2)
    .split('\\u')
    .map((digits) => Number.parseInt(digits, 16));
}

/** U+FDFA has 3 bytes, and 33 in NFKC. */
function growthOf(text: string, bytes: number): number {
  const composed = Buffer.byteLength(text.normalize('NFC'));
  const compatible = Buffer.byteLength(text.normalize('NFKC'));
  return Math.max(0, composed - bytes, compatible - bytes);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SPACE = 0x20;
const LETTER_U = 0x75;
/** The length of `\u4e2d`. */
const ESCAPE_LENGTH = 6;

/**
 * Bytes by which JSON can grow when a template writes it anew: HTML escapes for four characters, `\uXXXX` for everything
 * beyond ASCII, and a line with its indent for each member, element and closing bracket. A string may hold JSON in turn,
 * as the arguments of a call do: then it is JSON from its beginning.
 */
export function rewriteGrowth(bytes: Buffer, start: number, end: number): number {
  let growth = 0;
  let depth = 0;
  let isString = false;
  let holdsJson = false;
  /** Within a string: the depth of the JSON that it may hold, and whether that is in a string of its own. */
  let innerDepth = 0;
  let isInnerString = false;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] ?? 0;
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
