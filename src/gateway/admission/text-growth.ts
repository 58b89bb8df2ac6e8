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

/**
 * Bytes by which JSON can grow when a template writes it anew: HTML escapes for four characters, `\uXXXX` for everything
 * beyond ASCII, and a line with its indent for each member and element.
 */
export function rewriteGrowth(bytes: Buffer, start: number, end: number): number {
  let growth = 0;
  let depth = 0;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (byte >= 0x80) {
      // The first byte of a character: one UTF-16 unit, or two if it has four bytes.
      if (byte >= 0xc0) growth += byte >= 0xf0 ? 2 * ESCAPE_LENGTH : ESCAPE_LENGTH;
    } else if (byte === 0x2c) growth += 2 + depth;
    else if (byte === 0x7b || byte === 0x5b) growth += 2 + ++depth;
    else if (byte === 0x7d || byte === 0x5d) {
      // The closing bracket gets a line, too.
      growth += 2 + depth;
      if (depth > 0) depth--;
    } else if (byte === 0x3c || byte === 0x3e || byte === 0x26 || byte === 0x27) growth += ESCAPE_LENGTH - 1;
  }
  return growth;
}

const ESCAPE_LENGTH = 6;
