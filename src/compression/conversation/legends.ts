/** How a message's data is written, in full, with the kind of that. */
const LEGEND = /^\[gw (json|log): .*\]$/gm;
/** What a near copy is like, and how that is told. */
const LIKE = /^(\[gw: like .* above)(; "lines a-b" are the lines there, unchanged)\]$/gm;
/** So many messages on a legend is said again, to be found. */
const MAX_APART = 24;

/** What the conversation has been told of how gw writes things: the same need not be said each time. */
export class Legends {
  /** The last legend of each kind, and the message that says it. */
  readonly #last = new Map<string, { line: string; at: number }>();
  #messages = 0;

  /** The text without what the last legends of their kinds have said. */
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

  /** Takes up the legends of what went out as the next message. */
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
