import { contentStems } from '../../prompt/words.ts';

export interface Wanted {
  /** Documents of which every sentence stays that none before them has. */
  whole: ReadonlySet<number>;
  /** Stems of what is asked that tell one document from another: a sentence with one stays in any. */
  terms: ReadonlySet<string>;
}

/** Shorter lines are headings and tags. */
const MIN_LINE = 150;
const MAX_LINE = 20_000;
/** A gap shorter than this is not worth its sign. */
const MIN_GAP = 60;
const GAP = '… ';
const SENTENCE = /.+?(?:[.!?]["”’)\]]*\s+(?=["“‘([]?[\p{Lu}\d])|$)/gu;

/** Leaves out what earlier documents have said, and of those least wanted all that has no word of the question. */
export class Shortener {
  /** Something was left out. */
  hasGaps = false;
  readonly #wanted: Wanted;
  /** Retrieved pieces overlap. */
  readonly #seen = new Set<string>();

  constructor(wanted: Wanted) {
    this.#wanted = wanted;
  }

  /** The text of the document at this place, how it begins included. */
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
    const sentences = line.match(SENTENCE) ?? [line];
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
