import { contentStems, wordsOf } from '../../prompt/question.ts';
import { type Candidate, rank } from '../../prompt/ranking.ts';
import { type DocumentList, findDocuments } from './documents.ts';

/** The least number that stays, plus a share of a long list; scores near the best stay as well. */
const MIN_KEPT = 3;
const KEPT_SHARE = 0.01;
const NEAR_BEST = 0.55;
const MAX_KEPT_FACTOR = 2;
/** Documents below this share of the best score keep only sentences with a word of the question. */
const WHOLE = 0.35;
/** The threshold beyond the best two. */
const WHOLE_BEYOND = 0.8;
/**
 * If the best documents cover less than this of a short question, one may answer it in other words, so all stay. Only
 * a short question: a long one with so little in common asks about something else.
 */
const MIN_COVERED = 0.25;
const SHORT_QUESTION = 8;
const LABELLED = /^\W{0,3}(?:user )?(?:question|query)\W{0,3}:(.+)$/gim;
/** Lists shorter than this cost little. */
const MIN_LENGTH = 4000;
/** Tasks for which every document counts. */
const NEEDS_ALL =
  /\b(?:summar(?:y|ies|i[sz]e)|translate|classify|proofread|compare|contrast|overview|rank|each|every|(?:list|extract|find|name|count) (?:all|every|the)|how many (?:documents|passages|sources|articles|results))\b|\ball (?:of )?(?:the |these |those )?(?:documents|passages|sources|articles|chunks|results|pages|texts|snippets)\b/i;

/**
 * Drops the documents that are least relevant to the question; the others keep their order. In a user message the
 * question is the text around them, else `previousQuestion`.
 */
export function selectDocuments(text: string, previousQuestion: string | undefined, own: boolean): string {
  if (text.length < MIN_LENGTH) return text;
  const list = findDocuments(text);
  if (!list) return text;
  const around = own ? questionAround(list) : '';
  const question = contentStems(around).length > 0 ? around : (previousQuestion ?? '');
  const choice = chooseCandidates(question, list.documents);
  if (!choice) return text;
  const left = list.documents.length - choice.kept.size;
  const shortener = new Shortener(choice);
  const documents = list.documents.flatMap(({ text }, i) =>
    choice.kept.has(i) ? [shortener.shorten(text, i)] : [],
  );
  const body = documents.join('');
  const parts = shortener.hasGaps ? ', "…" of others' : '';
  const mark = `[gw: ${left} of ${list.documents.length} documents left out${parts}]\n`;
  return `${list.head}${body}${body.endsWith('\n') ? '' : '\n'}${mark}${list.tail}`;
}

export interface Choice extends Wanted {
  kept: ReadonlySet<number>;
}

/** Chooses the candidates that stay; undefined if all should. */
export function chooseCandidates(question: string, candidates: readonly Candidate[]): Choice | undefined {
  const query = labelled(question);
  const { length } = contentStems(query);
  if (length === 0 || NEEDS_ALL.test(question)) return undefined;
  const { scores, order, covered, telling } = rank(query, candidates);
  const best = scores[order[0] ?? 0] ?? 0;
  // With little in common the ranking means nothing.
  if (best === 0 || (length <= SHORT_QUESTION && covered < MIN_COVERED)) return undefined;
  const least = MIN_KEPT + Math.floor(KEPT_SHARE * candidates.length);
  const kept = order.filter(
    (i, place) => place < least || (place < least * MAX_KEPT_FACTOR && (scores[i] ?? 0) >= NEAR_BEST * best),
  );
  const named = namedIn(query, candidates);
  const all = new Set([...kept, ...named]);
  if (all.size === candidates.length) return undefined;
  const close = kept.filter((i, place) => (scores[i] ?? 0) >= best * (place < 2 ? WHOLE : WHOLE_BEYOND));
  return { kept: all, whole: new Set([...close, ...named]), terms: telling };
}

/** Candidates whose whole title is part of the question. */
function namedIn(question: string, candidates: readonly Candidate[]): number[] {
  const words = ` ${wordsOf(question).join(' ')} `;
  return candidates.flatMap(({ title }, i) => {
    if (contentStems(title).length === 0) return [];
    return words.includes(` ${wordsOf(title).join(' ')} `) ? [i] : [];
  });
}

/** The text after `Question:`, or all of it. Instructions around it describe the answer, not the topic. */
function labelled(question: string): string {
  const queries = [...question.matchAll(LABELLED)].map(([, query]) => query ?? '');
  return queries.length > 0 ? queries.join('\n') : question;
}

function questionAround({ head, tail }: DocumentList): string {
  return `${head.slice(-1500)}\n${tail.slice(0, 1500)}\n${tail.length > 3000 ? tail.slice(-1500) : ''}`;
}

interface Wanted {
  /** Documents that keep every sentence that no earlier one contains. */
  whole: ReadonlySet<number>;
  /** Discriminative stems of the question: a sentence with one stays in any document. */
  terms: ReadonlySet<string>;
}

/** Shorter lines are headings and tags. */
const MIN_LINE = 150;
const MAX_LINE = 20_000;
/** A shorter gap is not worth its mark. */
const MIN_GAP = 60;
const GAP = '… ';
/** The white space between two sentences. */
const BETWEEN = /(?<=[.!?]["”’)\]]{0,3})(?<!\s)\s+(?=["“‘([]?[\p{Lu}\d])/gu;

/** Drops sentences that earlier documents contain, and irrelevant sentences of the documents that are not `whole`. */
export class Shortener {
  /** Something was left out. */
  hasGaps = false;
  readonly #wanted: Wanted;
  /** Sentences of earlier documents: retrieved chunks overlap. */
  readonly #seen = new Set<string>();

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  /** Shortens the document at this index; its first sentence stays. */
  shorten(text: string, place: number): string {
    let hasBegun = false;
    return text
      .split('\n')
      .map((line) => {
        if (line.length < MIN_LINE || line.length > MAX_LINE) return line;
        const isFirst = !hasBegun;
        hasBegun = true;
        return this.#shortenLine(line, place, isFirst);
      })
      .join('\n');
  }

  #shortenLine(line: string, place: number, isFirst: boolean): string {
    const isWhole = this.#wanted.whole.has(place);
    const sentences = sentencesOf(line);
    const keeps = sentences.map((sentence, i) => {
      const isNew = sentence.length < MIN_GAP || this.#seen.size < this.#seen.add(sentence.trim()).size;
      return isNew && (isWhole || (isFirst && i === 0) || this.#hasTerm(sentence));
    });
    return this.#joinKept(sentences, keeps);
  }

  #hasTerm(sentence: string): boolean {
    return contentStems(sentence).some((stem) => this.#wanted.terms.has(stem));
  }

  #joinKept(sentences: readonly string[], keeps: readonly boolean[]): string {
    let out = '';
    let gap = '';
    const close = () => {
      const isLeft = gap.length >= MIN_GAP;
      out += isLeft ? GAP : gap;
      this.hasGaps ||= isLeft;
      gap = '';
    };
    sentences.forEach((sentence, i) => {
      if (keeps[i]) {
        close();
        out += sentence;
      } else gap += sentence;
    });
    close();
    return out.trimEnd();
  }
}

/** The sentences of a line, each with the space after it. */
function sentencesOf(line: string): string[] {
  const sentences: string[] = [];
  let from = 0;
  for (const { 0: space, index } of line.matchAll(BETWEEN)) {
    sentences.push(line.slice(from, index + space.length));
    from = index + space.length;
  }
  return from < line.length ? [...sentences, line.slice(from)] : sentences;
}
