import { createRequire } from 'node:module';
import type { Encoding } from './encoding.ts';

/** The rank of the token that is bytes[start, end), or `NO_RANK`. */
export type FindRank = (bytes: Uint8Array, start: number, end: number) => number;

export const NO_RANK = -1;

/**
 * js-tiktoken's rank table: lines of a name, the rank of the first token, and the tokens in base 64, with a space
 * between. Reads only the table asked for, and at once, which an import can't do.
 */
export function readPackedRanks(encoding: Encoding): string {
  return createRequire(import.meta.url)(`js-tiktoken/ranks/${encoding}`).bpe_ranks;
}

/**
 * Unpacks a rank table into typed arrays: 4 MB for the 200,000 tokens of o200k_base, where a Map takes over 100.
 * Tokens are found by open addressing: a slot holds a rank, and the rank leads to the token's bytes.
 */
export function unpackRanks(packed: string): FindRank {
  const { bytes: tokenBytes, starts, longest } = unpackTokens(packed);
  const count = starts.length - 1;
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * count))).fill(NO_RANK);
  const mask = slots.length - 1;
  // The casts here and below: typed arrays are read only within their bounds.
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

/** All tokens end to end in the order of their ranks: token r is bytes[starts[r], starts[r + 1]). */
interface Tokens {
  bytes: Uint8Array;
  starts: Uint32Array;
  longest: number;
}

/** Takes the tokens from the text one at a time: `split` would leave 20 MB of garbage behind. */
function unpackTokens(packed: string): Tokens {
  const bytes = Buffer.alloc(packed.length);
  const starts = new Uint32Array(packed.length);
  let count = 0;
  let longest = 0;
  let used = 0;
  for (const line of packed.split('\n').filter(Boolean)) {
    const firstRank = line.indexOf(' ') + 1;
    let end = line.indexOf(' ', firstRank);
    // A token's place is its rank only while there are no gaps between the lines.
    const rank = Number(line.slice(firstRank, end));
    if (rank !== count) throw new Error(`rank table: a line starts at rank ${rank}, not ${count}`);
    while (end < line.length) {
      const start = end + 1;
      end = line.indexOf(' ', start);
      if (end < 0) end = line.length;
      const length = bytes.write(line.slice(start, end), used, 'base64');
      longest = Math.max(longest, length);
      used += length;
      starts[++count] = used;
    }
  }
  return { bytes: Uint8Array.from(bytes.subarray(0, used)), starts: starts.slice(0, count + 1), longest };
}

/** FNV-1a, its high bits folded into the low ones, which choose the slot. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let i = start; i < end; i++) value = Math.imul(value ^ (bytes[i] as number), 0x01000193);
  return value ^ (value >>> 15);
}
