import { codeUnits, excerpt } from '../code-units.ts';

/** Number of buckets that n-grams are hashed into. */
const BUCKET_BITS = 17;
export const BUCKETS = 1 << BUCKET_BITS;

const FNV_OFFSET = 2166136261;
const FNV_PRIME = 16777619;
const WORD_START = FNV_OFFSET ^ 0x5bd1e995;
const STEM_START = FNV_OFFSET ^ 0x1b873593;
const NEXT = 0x9e3779b9;
const NEXT_BUT_ONE = 0x7f4a7c15;
/** Longer words also count by their first letters, which `derive`, `derived` and `derivation` share. */
const STEM_CHARS = 5;
const CLOSING_START = FNV_OFFSET ^ 0x27d4eb2f;
/** The question is often at the end, so the last words get n-grams of their own. */
const CLOSING_WORDS = 12;
/** A power of two, at least CLOSING_WORDS. */
const RECENT = 16;

// Scratch space for one call at a time: the distinct buckets so far, and a bit set of them that is small enough for
// the L1 cache.
const distinct = new Int32Array(BUCKETS + 1);
let count = 0;
const members = new Uint32Array(BUCKETS / 32);
/** Ring buffer of the last words' hashes. */
const recent = new Int32Array(RECENT);

/**
 * The distinct buckets of a text's words, stems of long words, bigrams, skip-grams over one word, and closing words.
 * Case is ignored and a number counts by its length alone, so that small edits change little.
 */
export function ngramBuckets(text: string): Int32Array {
  const { units, length } = codeUnits(excerpt(text).toLowerCase());
  count = 0;
  let previous = FNV_OFFSET;
  let beforeThat = FNV_OFFSET;
  let words = 0;
  let at = 0;
  while (at < length) {
    const from = at++;
    const first = units[from] ?? 0;
    const kind = KIND[first];
    if (kind === SPACE) continue;
    let word = Math.imul(WORD_START ^ first, FNV_PRIME);
    if (kind === LETTER) {
      for (; KIND[units[at] ?? 0] === LETTER; at++) word = Math.imul(word ^ (units[at] ?? 0), FNV_PRIME);
      if (at - from > STEM_CHARS) add(stemOf(units, from));
    } else if (kind === DIGIT) {
      while (KIND[units[at] ?? 0] === DIGIT) at++;
      word = Math.min(4, at - from);
    }
    add(word);
    add(Math.imul(previous ^ NEXT, FNV_PRIME) ^ word);
    add(Math.imul(beforeThat ^ NEXT_BUT_ONE, FNV_PRIME) ^ word);
    beforeThat = previous;
    previous = word;
    recent[words++ & (RECENT - 1)] = word;
  }
  for (let i = Math.max(0, words - CLOSING_WORDS); i < words; i++) {
    add(Math.imul(CLOSING_START ^ (recent[i & (RECENT - 1)] ?? 0), FNV_PRIME));
  }
  for (let i = 0; i < count; i++) members[(distinct[i] ?? 0) >>> 5] = 0;
  return distinct.slice(0, count);
}

function stemOf(units: Uint16Array, from: number): number {
  let hash = STEM_START;
  for (let at = from; at < from + STEM_CHARS; at++) hash = Math.imul(hash ^ (units[at] ?? 0), FNV_PRIME);
  return hash;
}

/** Adds a bucket unless it is in the set. Branch-free, since the branch would be mispredicted half of the time. */
function add(hash: number): void {
  const bucket = mix(hash) & (BUCKETS - 1);
  const word = bucket >>> 5;
  const bits = members[word] ?? 0;
  members[word] = bits | (1 << (bucket & 31));
  distinct[count] = bucket;
  count += 1 - ((bits >>> (bucket & 31)) & 1);
}

/** Mixes the high bits into the low bits, which select the bucket. */
function mix(hash: number): number {
  const folded = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return folded ^ (folded >>> 12);
}

const SPACE = 0;
const LETTER = 1;
const DIGIT = 2;
const MARK = 3;
/** Class of each UTF-16 code unit of a lower-case text. */
const KIND = Uint8Array.from({ length: 0x10000 }, (_, code) => kindOf(code));

function kindOf(code: number): number {
  // Scripts without spaces count character by character: Chinese, Japanese, and Korean with its syllable blocks.
  if (code > 0x2e7f) return MARK;
  if ((code >= 97 && code <= 122) || code > 191) return LETTER;
  if (code >= 48 && code <= 57) return DIGIT;
  return code <= 32 ? SPACE : MARK;
}
