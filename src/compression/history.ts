/** A text that came earlier in the conversation and can be referred to. */
export interface Earlier {
  text: string;
  /** How to tell the reader which one is meant. */
  name: string;
  /** What went out for it. */
  output: string;
  /** Nothing of it was left out. */
  exact: boolean;
}

const MIN_LENGTH = 300;
/** Lines shorter than this are everywhere and tell nothing. */
const MIN_LINE = 14;
/** A line in more texts than this says little about which one is meant. */
const MAX_HOLDERS = 12;

/** The texts that have gone by, findable by what they hold. */
export class History {
  readonly #byText = new Map<string, Earlier>();
  readonly #byLine = new Map<string, Earlier[]>();
  readonly #lastOf = new Map<string, Earlier>();
  readonly #counts = new Map<string, number>();

  /** `inPlace`: every line of the text has its line in the output, so lines can be referred to by number. */
  add(
    text: string,
    source: string,
    output: string,
    { exact, inPlace }: { exact: boolean; inPlace: boolean },
  ): void {
    if (text.length < MIN_LENGTH) return;
    const count = (this.#counts.get(source) ?? 0) + 1;
    this.#counts.set(source, count);
    if (this.#byText.has(text)) return;
    const name = count === 1 ? source : `${source} (no. ${count})`;
    const earlier: Earlier = { text, name, output, exact };
    this.#byText.set(text, earlier);
    if (exact) this.#lastOf.set(source, earlier);
    if (!inPlace) return;
    for (const line of new Set(text.split('\n').map(keyOfLine))) {
      if (line.length < MIN_LINE) continue;
      const holders = this.#byLine.get(line);
      if (!holders) this.#byLine.set(line, [earlier]);
      else if (holders.length < MAX_HOLDERS) holders.push(earlier);
    }
  }

  same(text: string): Earlier | undefined {
    return this.#byText.get(text);
  }

  /** The last text from this source of which nothing was left out. */
  lastOf(source: string): Earlier | undefined {
    return this.#lastOf.get(source);
  }

  /** The unchanged text that shares most with these lines, if it shares a good part of them. */
  nearest(lines: readonly string[]): Earlier | undefined {
    const shared = new Map<Earlier, number>();
    let all = 0;
    for (const line of lines) {
      const key = keyOfLine(line);
      if (key.length < MIN_LINE) continue;
      all += key.length;
      for (const holder of this.#byLine.get(key) ?? [])
        shared.set(holder, (shared.get(holder) ?? 0) + key.length);
    }
    let best: Earlier | undefined;
    let most = all * 0.25;
    for (const [earlier, length] of shared) {
      if (length > most) {
        best = earlier;
        most = length;
      }
    }
    return best;
  }
}

/** A line without the number that a file viewer put before it: an insertion renumbers all lines below. */
export function keyOfLine(line: string): string {
  return NUMBER.test(line) ? line.replace(NUMBER, '') : line;
}

export const NUMBER = /^\s*\d+(?:\t|:|\|| {2})/;
