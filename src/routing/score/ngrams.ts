import { excerpt } from './scan.ts';

/** Buckets that n-grams are hashed into. */
export const BUCKET_BITS = 17;
export const BUCKETS = 1 << BUCKET_BITS;

const FNV_OFFSET = 2166136261;
const FNV_PRIME = 16777619;
const WORD_SEED = 0x5bd1e995;
const PIECE_SEED = 0x1b873593;
const PIECE_CHARS = 4;
const MAX_PIECES = 9;

// Scratch space for one call at a time: the buckets found, and the round in which each bucket was last taken,
// which stands in for a hash set.
const found = new Int32Array(BUCKETS);
let count = 0;
const takenIn = new Uint32Array(BUCKETS);
let round = 0;

/**
 * The distinct buckets of a text: its words, pairs of neighbouring words, and four-letter pieces of long words.
 * Case is ignored, and a number counts by its length alone, so that small edits change little.
 */
export function ngramBuckets(text: string): Int32Array {
  const read = excerpt(text).toLowerCase();
  round = (round + 1) >>> 0;
  count = 0;
  let previous = FNV_OFFSET;
  let at = 0;
  while (at < read.length) {
    const kind = kindOf(read.charCodeAt(at));
    let end = at + 1;
    if (kind === SPACE) {
      at = end;
      continue;
    }
    if (kind !== MARK) while (end < read.length && kindOf(read.charCodeAt(end)) === kind) end++;
    const word = kind === DIGIT ? Math.min(4, end - at) : hashOf(read, at, end, WORD_SEED);
    take(word);
    take(Math.imul(previous ^ 0x9e3779b9, FNV_PRIME) ^ word);
    if (kind === LETTER && end - at > PIECE_CHARS) takePieces(read, at, end);
    previous = word;
    at = end;
  }
  return found.slice(0, count);
}

function takePieces(text: string, from: number, end: number): void {
  const last = Math.min(end - PIECE_CHARS, from + MAX_PIECES - 1);
  for (let at = from; at <= last; at++) take(hashOf(text, at, at + PIECE_CHARS, PIECE_SEED));
}

function take(hash: number): void {
  const bucket = mix(hash) & (BUCKETS - 1);
  if (takenIn[bucket] === round) return;
  takenIn[bucket] = round;
  found[count++] = bucket;
}

function hashOf(text: string, from: number, end: number, seed: number): number {
  let hash = FNV_OFFSET ^ seed;
  for (let at = from; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash;
}

/** Spreads the high bits into the low ones that the bucket is taken from. */
function mix(hash: number): number {
  const folded = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return folded ^ (folded >>> 12);
}

const SPACE = 0;
const LETTER = 1;
const DIGIT = 2;
const MARK = 3;

function kindOf(code: number): number {
  if ((code >= 97 && code <= 122) || code > 191) return LETTER;
  if (code >= 48 && code <= 57) return DIGIT;
  return code <= 32 ? SPACE : MARK;
}
