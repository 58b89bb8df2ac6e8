import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { FILES } from '../version.ts';
import type { Encoding } from './encoding.ts';

/** Returns the rank of the token bytes[start, end), or `NO_RANK` if it isn't a token. */
export type FindRank = (bytes: Uint8Array, start: number, end: number) => number;

export const NO_RANK = -1;

/**
 * Reads js-tiktoken's rank table: lines of a name, the rank of the first token, and the tokens in base64, separated by
 * spaces. Cuts its bytes out of the module's file, because importing the module would cost the thread 10 MB for good. A
 * build copies the file, because all of js-tiktoken takes 22 MB.
 */
export function readPackedRanks(encoding: Encoding): Buffer {
  const bundleUrl = new URL(`ranks/${encoding}.cjs`, FILES);
  const file = existsSync(bundleUrl)
    ? bundleUrl
    : createRequire(import.meta.url).resolve(`js-tiktoken/ranks/${encoding}`);
  const module = readFileSync(file);
  const start = module.indexOf(MEMBER) + MEMBER.length;
  const packed = module.subarray(start, module.indexOf('"', start));
  if (start < MEMBER.length || packed.includes('\\')) throw new Error(`no rank table can be read in ${file}`);
  return packed;
}

const MEMBER = '"bpe_ranks":"';

/**
 * Unpacks a rank table into typed arrays: 4 MB for the 200,000 tokens of o200k_base, while a Map takes over 100 MB.
 * The tokens are a hash table with open addressing: a slot holds a rank, and the rank gives the token's bytes, which
 * overwrite the packed table.
 */
export function unpackRanks(packed: Buffer): FindRank {
  const { bytes: tokenBytes, starts, longest } = unpackTokens(packed);
  const count = starts.length - 1;
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count))).fill(NO_RANK);
  const mask = slots.length - 1;
  // The casts here and below are safe because typed arrays are read within bounds.
  for (let rank = 0; rank < count; rank++) {
    let slot = hash(tokenBytes, starts[rank] as number, starts[rank + 1] as number) & mask;
    while (slots[slot] !== NO_RANK) slot = (slot + 1) & mask;
    slots[slot] = rank;
  }

  return (bytes, start, end) => {
    const length = end - start;
    if (length > longest) return NO_RANK;
    for (let slot = hash(bytes, start, end) & mask; ; slot = (slot + 1) & mask) {
      const rank = slots[slot] as number;
      if (rank === NO_RANK) return NO_RANK;
      const tokenStart = starts[rank] as number;
      if ((starts[rank + 1] as number) - tokenStart !== length) continue;
      let same = 0;
      while (same < length && tokenBytes[tokenStart + same] === bytes[start + same]) same++;
      if (same === length) return rank;
    }
  };
}

/** All tokens, concatenated in the order of their ranks: token r is bytes[starts[r], starts[r + 1]). */
interface Tokens {
  bytes: Uint8Array;
  starts: Uint32Array;
  longest: number;
}

const LF = 0x0a;
const SPACE = 0x20;

/** Unpacks in place, because a copy would take twice the memory and no token is longer than its base64 form. */
function unpackTokens(packed: Buffer): Tokens {
  const starts = new Uint32Array(countOf(packed, SPACE));
  let count = 0;
  let longest = 0;
  let used = 0;
  for (let at = 0; at < packed.length; at++) {
    const firstRank = packed.indexOf(SPACE, at) + 1;
    at = packed.indexOf(SPACE, firstRank);
    // A token's index is its rank only if there are no gaps between the lines.
    const rank = Number(packed.toString('latin1', firstRank, at));
    if (rank !== count) throw new Error(`rank table: a line starts at rank ${rank}, not ${count}`);
    while (packed[at] === SPACE) {
      const end = endOfWord(packed, at + 1);
      const tokenEnd = decodeBase64(packed, at + 1, end, used);
      longest = Math.max(longest, tokenEnd - used);
      used = tokenEnd;
      starts[++count] = used;
      at = end;
    }
  }
  return { bytes: packed, starts: starts.subarray(0, count + 1), longest };
}

function countOf(bytes: Buffer, wanted: number): number {
  let count = 0;
  for (const byte of bytes) if (byte === wanted) count++;
  return count;
}

function endOfWord(bytes: Buffer, start: number): number {
  let end = start;
  while (end < bytes.length && bytes[end] !== SPACE && bytes[end] !== LF) end++;
  return end;
}

const DIGITS = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const VALUE_OF = new Uint8Array(256);
for (const [value, digit] of DIGITS.entries()) VALUE_OF[digit] = value;
const PADDING = 0x3d;

/** Decodes the base64 of bytes[start, end) to bytes[to, ...) and returns the end of the result. */
function decodeBase64(bytes: Buffer, start: number, end: number, to: number): number {
  let next = to;
  let bits = 0;
  let buffer = 0;
  for (let i = start; i < end && bytes[i] !== PADDING; i++) {
    buffer = (buffer << 6) | (VALUE_OF[bytes[i] as number] as number);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[next++] = buffer >> bits;
  }
  return next;
}

/** FNV-1a with the high bits folded into the low bits, which select the slot. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let i = start; i < end; i++) value = Math.imul(value ^ (bytes[i] as number), 0x01000193);
  return value ^ (value >>> 15);
}
