/** Kinds of words that indicate a request's difficulty. The lists were written by hand, not derived from a data set. */
export type WordKind = 'condition' | 'negation' | 'comparison' | 'writing' | 'code' | 'maths';

const WORDS: Record<WordKind, string> = {
  condition:
    'if unless when then otherwise except only least most exactly must should cannot without not no never ' +
    'neither nor none false incorrect both either before after until while whether',
  negation: 'not no never neither nor none except cannot without incorrect false wrong',
  comparison: 'than more less fewer same difference remaining left rest other twice half times',
  writing:
    'write draft compose story poem essay blog email letter haiku lyrics rewrite paraphrase summarize ' +
    'summarise translate edit proofread tone title slogan recipe ideas brainstorm imagine roleplay act ' +
    'pretend persona embody picture character describe creative vivid headline outline speech review tweet post caption ' +
    'advice tips suggest recommend',
  code:
    'python javascript typescript java rust golang sql regex code program programming function functions ' +
    'algorithm implement implementation debug refactor compile compiler array arrays string strings bug lists ' +
    'recursion recursive complexity api database query html css json csv script tuple dictionary loop pointer def',
  maths:
    'prove proof theorem lemma derivative integral integrate integer integers equation equations inequality ' +
    'polynomial polynomials matrix matrices eigenvalue eigenvalues determinant modulo congruent divisible ' +
    'divisor divisors vector vectors triangle triangles circle circles radius perpendicular parallel angle ' +
    'angles polygon hexagon quadrilateral square cube quadratic logarithm sine cosine tangent sequence ' +
    'converges graph coordinates irrational coefficient coefficients roots permutation permutations ' +
    'combinations binomial factorial probability remainder digits subset subsets area ratio',
};

/** Bit of each kind in the result of `kindsOf()`. */
export const KIND_BITS: Record<WordKind, number> = {
  condition: 1,
  negation: 2,
  writing: 4,
  code: 8,
  maths: 16,
  comparison: 32,
};

/** Setting this bit lower-cases an ASCII letter and turns no other letter into an ASCII letter. */
const LOWER_CASE_BIT = 32;
const SLOTS = 2048;
const LONGEST_WORD = 14;

interface Entry {
  word: string;
  kinds: number;
}

// A hash table keyed by length and three letters: most words of a prompt cost one lookup, and no string is allocated.
const entries: Entry[][] = Array.from({ length: SLOTS }, () => []);
for (const [kind, words] of Object.entries(WORDS)) {
  for (const word of words.split(' ')) enter(word, KIND_BITS[kind as WordKind]);
}

function enter(word: string, bit: number): void {
  const units = Uint16Array.from(word, (char) => char.charCodeAt(0));
  const slot = entries[slotOf(units, 0, units.length)] ?? [];
  const entry = slot.find((other) => other.word === word);
  if (entry) entry.kinds |= bit;
  else slot.push({ word, kinds: bit });
}

/** The kinds of a word, as bits. Case-insensitive. */
export function kindsOf(units: Uint16Array, from: number, end: number): number {
  if (end - from > LONGEST_WORD) return 0;
  for (const { word, kinds } of entries[slotOf(units, from, end)] ?? []) {
    if (word.length === end - from && isAt(units, from, word)) return kinds;
  }
  return 0;
}

function slotOf(units: Uint16Array, from: number, end: number): number {
  const first = (units[from] ?? 0) | LOWER_CASE_BIT;
  const middle = (units[(from + end) >> 1] ?? 0) | LOWER_CASE_BIT;
  const last = (units[end - 1] ?? 0) | LOWER_CASE_BIT;
  return (first * 337 + middle * 47 + last * 7 + end - from) & (SLOTS - 1);
}

function isAt(units: Uint16Array, from: number, word: string): boolean {
  for (let i = 0; i < word.length; i++) {
    if (((units[from + i] ?? 0) | LOWER_CASE_BIT) !== word.charCodeAt(i)) return false;
  }
  return true;
}
