import { codeUnits, excerpt } from '../code-units.ts';

/** Buckets that n-grams are hashed into. */
export const BUCKET_BITS = 17;
export const BUCKETS = 1 << BUCKET_BITS;

const FNV_OFFSET = 2166136261;
const FNV_PRIME = 16777619;
const WORD_START = FNV_OFFSET ^ 0x5bd1e995;
const STEM_START = FNV_OFFSET ^ 0x1b873593;
const NEXT = 0x9e3779b9;
const NEXT_BUT_ONE = 0x7f4a7c15;
/** Longer words are known by their beginning too: `derive`, `derived` and `derivation` have much in common. */
const STEM_CHARS = 5;
const CLOSING_START = FNV_OFFSET ^ 0x27d4eb2f;
/** What is asked often stands at the end: the last words count once more, as such. */
const CLOSING_WORDS = 12;
/** A power of two, not below the closing words. */
const RECENT = 16;

// Scratch space for one call at a time: the buckets found, and a bit for each that was, which stands in for a hash set
// and is small enough to stay in the processor's nearest cache.
const found = new Int32Array(BUCKETS + 1);
let count = 0;
const taken = new Uint32Array(BUCKETS / 32);
/** A ring of the words read last. */
const recent = new Int32Array(RECENT);

/**
 * The distinct buckets of a text: its words, the beginnings of long ones, pairs of words that stand side by side
 * or with one between them, and the words that it ends with. Case is ignored, and a number counts by its length
 * alone, so that small edits change little.
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
      if (at - from > STEM_CHARS) take(stemOf(units, from));
    } else if (kind === DIGIT) {
      while (KIND[units[at] ?? 0] === DIGIT) at++;
      word = Math.min(4, at - from);
    }
    take(word);
    take(Math.imul(previous ^ NEXT, FNV_PRIME) ^ word);
    take(Math.imul(beforeThat ^ NEXT_BUT_ONE, FNV_PRIME) ^ word);
    beforeThat = previous;
    previous = word;
    recent[words++ & (RECENT - 1)] = word;
  }
  for (let i = Math.max(0, words - CLOSING_WORDS); i < words; i++) {
    take(Math.imul(CLOSING_START ^ (recent[i & (RECENT - 1)] ?? 0), FNV_PRIME));
  }
  for (let i = 0; i < count; i++) taken[(found[i] ?? 0) >>> 5] = 0;
  return found.slice(0, count);
}

function stemOf(units: Uint16Array, from: number): number {
  let hash = STEM_START;
  for (let at = from; at < from + STEM_CHARS; at++) hash = Math.imul(hash ^ (units[at] ?? 0), FNV_PRIME);
  return hash;
}

/** Without a branch, which would be foreseen wrongly half of the time. */
function take(hash: number): void {
  const bucket = mix(hash) & (BUCKETS - 1);
  const place = bucket >>> 5;
  const bits = taken[place] ?? 0;
  taken[place] = bits | (1 << (bucket & 31));
  found[count] = bucket;
  count += 1 - ((bits >>> (bucket & 31)) & 1);
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
/** What each UTF-16 code unit of a text without capitals is. */
const KIND = Uint8Array.from({ length: 0x10000 }, (_, code) => kindOf(code));

function kindOf(code: number): number {
  // What is written without spaces counts sign by sign: Chinese, Japanese, and Korean, whose signs are syllables.
  if (code > 0x2e7f) return MARK;
  if ((code >= 97 && code <= 122) || code > 191) return LETTER;
  if (code >= 48 && code <= 57) return DIGIT;
  return code <= 32 ? SPACE : MARK;
}
