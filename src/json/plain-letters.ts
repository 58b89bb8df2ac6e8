import { BACKSLASH } from './bytes.ts';

const LETTER_U = 0x75;

/** Escapes of characters that need none. An escaped backslash may precede and cause a false match. */
const ESCAPE = /\\u00(?:2[d-f]|3[0-9a]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])/i;
/** 1 for the codes of letters, digits and `_-.:/`. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, code) =>
  Number(/[\w.:/-]/.test(String.fromCharCode(code))),
);
/** Values of hexadecimal digits by character code; 0x10000 for other bytes. */
const HEX = Uint32Array.from({ length: 256 }, (_, code) => {
  const digit = String.fromCharCode(code);
  return /[\da-f]/i.test(digit) ? Number.parseInt(digit, 16) : 0x10000;
});

/** The UTF-16 code unit of an escape `\uXXXX` at `at`; undefined if there is none. */
export function unitAt(json: Buffer, at: number): number | undefined {
  if (json[at] !== BACKSLASH || json[at + 1] !== LETTER_U) return undefined;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) unit = 16 * unit + (HEX[json[i] ?? 0] as number);
  return unit > 0xffff ? undefined : unit;
}

/**
 * Decodes the escapes of letters, digits and `_-.:/` in a JSON text. No encoder writes them, and without them a key or
 * word can be searched for in the bytes. Returns the same buffer if there are none. Takes 1 to 2 ns per byte. `plainBytes`:
 * how many bytes at the start are known to have none, as an earlier result of this has the same.
 */
export function withPlainLetters(json: Buffer, plainBytes = 0): Buffer {
  if (!mayHaveEscape(json, Math.max(0, plainBytes - LONGEST_PART))) return json;
  const { length } = json;
  const plain = Buffer.from(new SharedArrayBuffer(length));
  let end = 0;
  /** End of an invalid escape's four characters: a decoded letter must not complete it. */
  let broken = 0;
  for (let at = 0; at < length; at++) {
    const byte = json[at] as number;
    plain[end++] = byte;
    if (byte !== BACKSLASH || at + 1 === length) continue;
    const next = json[++at] as number;
    plain[end++] = next;
    if (next !== LETTER_U) continue;
    const unit = unitAt(json, at - 1);
    if (unit === undefined) broken = end + 4;
    if (end - 2 < broken || unit === undefined || PLAIN[unit] !== 1) continue;
    plain[end - 2] = unit;
    end--;
    at += 4;
  }
  return end === length ? json : plain.subarray(0, end);
}

const BEGINNING = Buffer.from('u00');
const ESCAPE_BEGINNING = Buffer.from('\\u00');
/** A search stops at each first letter: in prose there are fewer backslashes than letters `u`, in code more. */
const SPARSE = 8;
const SPARSE_BYTES = 512;
/** Up to this many candidates are tested one by one, which is fastest for bodies with few or none. */
const FEW = 64;

/** Bytes of an escape that may stand before an end within it. */
const LONGEST_PART = '\\u006'.length;

/** Quick check whether `withPlainLetters` may change anything from a position on. */
function mayHaveEscape(json: Buffer, from: number): boolean {
  const first = json.indexOf(BACKSLASH, from);
  if (first < 0) return false;
  const beginning = hasFewBackslashes(json, first) ? ESCAPE_BEGINNING : BEGINNING;
  let at = json.indexOf(beginning, first);
  for (let candidates = 0; at >= 0; at = json.indexOf(beginning, at + 1)) {
    if (++candidates > FEW) return ESCAPE.test(json.toString('latin1', at - 1));
    if (ESCAPE.test(json.toString('latin1', Math.max(at - 1, 0), at + 6))) return true;
  }
  return false;
}

/** Whether the next few backslashes are far apart. */
function hasFewBackslashes(json: Buffer, first: number): boolean {
  let at = first;
  for (let i = 0; i < SPARSE && at >= 0; i++) at = json.indexOf(BACKSLASH, at + 1);
  return at < 0 || at - first > SPARSE_BYTES;
}
