import { contentStems } from './question.ts';

export interface Candidate {
  title: string;
  text: string;
}

const K1 = 1.2;
const B = 0.6;
/** Weight of two adjacent words of the question. */
const PAIR_WEIGHT = 0.5;
const TITLE_WEIGHT = 1.2;
/** Weight of a word that no candidate contains: it may describe the answer rather than the topic. */
const ABSENT = 0.5;
/** How many of the best candidates may lead to others. */
const HOPS = 3;
const HOP_WEIGHT = 0.45;
/** Length of a word root (`Tunisia`, `Tunisian`), and how much of a text is searched for roots. */
const ROOT = 6;
const ROOTS_FROM = 4000;

export interface Ranking {
  scores: number[];
  /** Indexes of the candidates, best first. */
  order: number[];
  /** Share of the question's terms, by weight, that the best candidates contain. */
  covered: number;
  /** Discriminative stems of the question: those in fewer than half of the candidates, or all if none are. */
  telling: ReadonlySet<string>;
}

/** Ranks candidates by BM25 on stems and pairs, titles, coverage, and a second hop. */
export function rank(question: string, candidates: readonly Candidate[]): Ranking {
  const memo = new Map<string, string>();
  const stemsOf = (text: string) => contentStems(text, memo);
  const queryStems = stemsOf(question);
  const terms = new Set(queryStems);
  const pairs = new Set(queryStems.slice(1).map((stem, i) => `${queryStems[i]} ${stem}`));
  const texts = candidates.map(({ title, text }) => count(stemsOf(text), stemsOf(title), terms, pairs));
  const mean = texts.reduce((sum, text) => sum + text.length, 0) / Math.max(1, texts.length);
  const weights = weigh([...terms, ...pairs], texts);
  const best = [...terms].reduce((sum, term) => sum + (weights.get(term) ?? 0), 0);
  const scores = texts.map((text) => scoreOf(text, weights, mean, best, pairs));
  const hopped = addHops(scores, candidates, stemsOf);
  const order = orderOf(hopped);
  const foundTerms = [...terms].filter((term) =>
    order.slice(0, HOPS).some((i) => texts[i]?.counts.has(term)),
  );
  const covered = foundTerms.reduce((sum, term) => sum + (weights.get(term) ?? 0), 0);
  const absent = [...terms].filter((term) => !texts.some((text) => text.counts.has(term)));
  const available = best - absent.reduce((sum, term) => sum + (weights.get(term) ?? 0) * (1 - ABSENT), 0);
  const telling = [...terms].filter((term) => holdersOf(term, texts) * 2 < texts.length);
  return {
    scores: hopped,
    order,
    covered: available === 0 ? 0 : covered / available,
    telling: telling.length > 0 ? new Set(telling) : terms,
  };
}

function orderOf(scores: readonly number[]): number[] {
  return scores.map((_, i) => i).sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
}

interface Counted {
  length: number;
  counts: Map<string, number>;
  /** Stems of the question that the title contains, with the weight of the match. */
  title: Map<string, number>;
}

function count(
  stems: readonly string[],
  title: readonly string[],
  terms: ReadonlySet<string>,
  pairs: ReadonlySet<string>,
): Counted {
  const counts = new Map<string, number>();
  const add = (key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  stems.forEach((stem, i) => {
    if (!terms.has(stem)) return;
    add(stem);
    const pair = `${stems[i - 1]} ${stem}`;
    if (pairs.has(pair)) add(pair);
  });
  return { length: stems.length, counts, title: matchTitle(title, terms) };
}

function matchTitle(title: readonly string[], terms: ReadonlySet<string>): Map<string, number> {
  const matched = new Map<string, number>();
  for (const term of terms) {
    if (title.includes(term)) matched.set(term, 1);
    else if (term.length > 5 && title.some((stem) => stem.startsWith(term.slice(0, 6))))
      matched.set(term, 0.7);
  }
  return matched;
}

function weigh(keys: readonly string[], texts: readonly Counted[]): Map<string, number> {
  return new Map(
    keys.map((key) => {
      const holders = holdersOf(key, texts);
      return [key, Math.log(1 + (texts.length - holders + 0.5) / (holders + 0.5))];
    }),
  );
}

function holdersOf(key: string, texts: readonly Counted[]): number {
  return texts.filter((text) => text.counts.has(key)).length;
}

function scoreOf(
  text: Counted,
  weights: ReadonlyMap<string, number>,
  mean: number,
  best: number,
  pairs: ReadonlySet<string>,
): number {
  let score = 0;
  let covered = 0;
  for (const [key, times] of text.counts) {
    const weight = weights.get(key) ?? 0;
    const frequency = (times * (K1 + 1)) / (times + K1 * (1 - B + (B * text.length) / Math.max(1, mean)));
    score += weight * frequency * (pairs.has(key) ? PAIR_WEIGHT : 1);
    if (!pairs.has(key)) covered += weight;
  }
  for (const [stem, share] of text.title) score += (weights.get(stem) ?? 0) * TITLE_WEIGHT * share;
  return best === 0 ? 0 : score * (1 + covered / best);
}

/** A document whose title one of the best mentions may contain the other half of the answer. */
function addHops(
  scores: readonly number[],
  candidates: readonly Candidate[],
  stemsOf: (text: string) => string[],
): number[] {
  const rootsOf = (text: string) => stemsOf(text.slice(0, ROOTS_FROM)).map((stem) => stem.slice(0, ROOT));
  const order = orderOf(scores);
  const names = candidates.map(({ title }) => [...new Set(rootsOf(title))]);
  const holders = new Map<string, number>();
  for (const root of names.flat()) holders.set(root, (holders.get(root) ?? 0) + 1);
  const hopped = [...scores];
  for (const top of order.slice(0, HOPS)) {
    const bonus = HOP_WEIGHT * (scores[top] ?? 0);
    const roots = new Set(rootsOf(candidates[top]?.text ?? ''));
    for (const other of order) {
      if (other === top) continue;
      // A word in many titles identifies none of them.
      const own = (names[other] ?? []).filter(
        (root) => (holders.get(root) ?? 0) <= 2 + candidates.length / 20,
      );
      const common = own.filter((root) => roots.has(root)).length;
      if (common === 0 || common * 2 < own.length) continue;
      hopped[other] = Math.max(hopped[other] ?? 0, (scores[other] ?? 0) + bonus);
    }
  }
  return hopped;
}
