/** The full legend of an encoding, and its kind. */
const LEGEND = /^\[gw (json|log): .*\]$/gm;
/** The heading of a near copy, and the legend in it. */
const LIKE = /^(\[gw: like .* above)(; "lines a-b" are the lines there, unchanged)\]$/gm;
/** A legend is repeated after this many messages, so that it stays easy to find. */
const MAX_APART = 24;

/** The legends that the conversation already contains, so that each is not repeated with every message. */
export class Legends {
  /** The last legend of each kind, and the index of its message. */
  readonly #last = new Map<string, { line: string; at: number }>();
  #messages = 0;

  /** Shortens each legend that equals the last one of its kind. */
  shorten(text: string): string {
    const here = new Map<string, string>();
    const isKnown = (kind: string, line: string) => {
      const isSame = (here.get(kind) ?? this.#lastOf(kind)) === line;
      here.set(kind, line);
      return isSame;
    };
    return text
      .replace(LEGEND, (line, kind: string) => (isKnown(kind, line) ? asBefore(kind) : line))
      .replace(LIKE, (line, like: string, legend: string) => (isKnown('like', legend) ? `${like}]` : line));
  }

  /** Records the legends of the next message as it was sent. */
  add(texts: readonly string[]): void {
    this.#messages++;
    for (const text of texts) {
      if (!text.includes('[gw')) continue;
      for (const [line, kind = ''] of text.matchAll(LEGEND))
        if (line !== asBefore(kind)) this.#take(kind, line);
      for (const [, , legend = ''] of text.matchAll(LIKE)) this.#take('like', legend);
    }
  }

  #take(kind: string, line: string): void {
    this.#last.set(kind, { line, at: this.#messages });
  }

  #lastOf(kind: string): string | undefined {
    const last = this.#last.get(kind);
    return last && this.#messages - last.at < MAX_APART ? last.line : undefined;
  }
}

function asBefore(kind: string): string {
  return `[gw ${kind}: as before]`;
}
