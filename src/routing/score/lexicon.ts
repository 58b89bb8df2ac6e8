/**
 * Kinds of words that say something about how hard a request is to answer well. The lists are written by hand
 * from what the words mean; no data set was mined for them.
 */
export type WordKind = 'condition' | 'negation' | 'writing' | 'code' | 'maths';

const WORDS: Record<WordKind, string> = {
  condition:
    'if unless when then otherwise except only least most exactly must should cannot without not no never ' +
    'neither nor none false incorrect both either before after until while whether',
  negation: 'not no never neither nor none except cannot without incorrect false wrong',
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

export const WORD_KINDS = Object.keys(WORDS) as WordKind[];

const KINDS_OF = new Map<string, WordKind[]>();
for (const kind of WORD_KINDS) {
  for (const word of WORDS[kind].split(' ')) KINDS_OF.set(word, [...(KINDS_OF.get(word) ?? []), kind]);
}

/** The kinds that a lower-case word belongs to, if any. */
export function kindsOf(word: string): readonly WordKind[] | undefined {
  return KINDS_OF.get(word);
}
