import { contentStems } from '../../prompt/words.ts';

export interface Wanted {
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
