/** An earlier text of the conversation that can be referred to. */
export interface Earlier {
  text: string;
  /** Its name in references. */
  name: string;
  /** Nothing of it was left out. */
  exact: boolean;
  /** A user wrote or pasted it. */
  byUser: boolean;
}

/** How a text was sent. */
export interface Fate {
  /** Nothing of it was left out. */
  exact: boolean;
  /** Each line has its line in the output, so lines can be referred to by number. */
  inPlace: boolean;
  byUser?: boolean;
}

const MIN_LENGTH = 300;
/** Shorter lines occur everywhere and identify nothing. */
const MIN_LINE = 14;
/** A line in more texts than this hardly identifies any of them. */
const MAX_HOLDERS = 12;

/** The earlier texts of a conversation, indexed by content. */
export class History {
  readonly #byText = new Map<string, Earlier>();
  readonly #byLine = new Map<string, Earlier[]>();
  readonly #lastOf = new Map<string, Earlier>();
  readonly #counts = new Map<string, number>();

  add(text: string, source: string, { exact, inPlace, byUser = false }: Fate): void {
    if (text.length < MIN_LENGTH) return;
    const count = (this.#counts.get(source) ?? 0) + 1;
    this.#counts.set(source, count);
    if (this.#byText.has(text)) return;
    const name = count === 1 ? source : `${source} (no. ${count})`;
    const earlier: Earlier = { text, name, exact, byUser };
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

  /** The last complete text from this source. */
  lastOf(source: string): Earlier | undefined {
    return this.#lastOf.get(source);
  }

  /** The in-place text that shares most with these lines, more than a quarter; `notByUser` skips user texts. */
  nearest(lines: readonly string[], notByUser = false): Earlier | undefined {
    const shared = new Map<Earlier, number>();
    let all = 0;
    for (const line of lines) {
      const key = keyOfLine(line);
      if (key.length < MIN_LINE) continue;
      all += key.length;
      for (const holder of this.#byLine.get(key) ?? [])
        if (!notByUser || !holder.byUser) shared.set(holder, (shared.get(holder) ?? 0) + key.length);
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

/** A line without the line number of a file viewer, which changes with every insertion above. */
export const keyOfLine = (line: string): string => (NUMBER.test(line) ? line.replace(NUMBER, '') : line);

export const NUMBER = /^\s*\d+(?:\t|→|:|\|| {2})/;
