import { type Json, JsonObject, readWhole } from '../json/read.ts';
import { type JsonTemplate, outlineOf, startsWithKeysOf } from '../json/template.ts';
import { REFERENCE } from '../prompt/marks.ts';

/** A text that came earlier in the conversation and can be referred to. */
export interface Earlier {
  text: string;
  /** How to tell the reader which one is meant. */
  name: string;
  /** What went out for it. */
  output: string;
  /** Nothing of it was left out. */
  exact: boolean;
  /** A user wrote or pasted it. */
  byUser: boolean;
}

/** What became of a text. */
export interface Fate {
  /** Nothing of it was left out. */
  exact: boolean;
  /** Every line of it has its line in the output, so that lines can be referred to by number. */
  inPlace: boolean;
  /** The tool that printed it. */
  tool?: string | undefined;
  byUser?: boolean;
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
  readonly #templates = new Map<string, JsonTemplate[]>();
  readonly #tools = new Set<string>();
  readonly #counts = new Map<string, number>();

  add(text: string, source: string, output: string, { exact, inPlace, tool, byUser = false }: Fate): void {
    const isFirst = tool !== undefined && !this.#tools.has(tool);
    if (tool !== undefined) this.#tools.add(tool);
    if (text.length < MIN_LENGTH) return;
    const count = (this.#counts.get(source) ?? 0) + 1;
    this.#counts.set(source, count);
    if (this.#byText.has(text)) return;
    const name = count === 1 ? source : `${source} (no. ${count})`;
    const earlier: Earlier = { text, name, output, exact, byUser };
    this.#byText.set(text, earlier);
    if (exact) {
      this.#lastOf.set(source, earlier);
      this.#addJson(earlier, isFirst ? `the first ${tool}` : name);
    }
    if (!inPlace) return;
    for (const line of new Set(text.split('\n').map(keyOfLine))) {
      if (line.length < MIN_LINE) continue;
      const holders = this.#byLine.get(line);
      if (!holders) this.#byLine.set(line, [earlier]);
      else if (holders.length < MAX_HOLDERS) holders.push(earlier);
    }
  }

  #addJson(earlier: Earlier, name: string): void {
    const value = /^\s*[[{]/.test(earlier.text) ? readWhole(earlier.text) : undefined;
    const outline = value === undefined ? undefined : outlineOf(value);
    if (value === undefined || outline === undefined) return;
    const identity = identityOf(value);
    if (identity !== undefined) this.#lastOf.set(identity, earlier);
    // What went out with its keys shows them to what comes later.
    if (earlier.output.startsWith(REFERENCE) || this.templateOf(value)) return;
    const templates = this.#templates.get(outline) ?? [];
    if (templates.length < MAX_HOLDERS) this.#templates.set(outline, [...templates, { value, name }]);
  }

  /** An earlier JSON value that has the same keys, or the first of them. */
  templateOf(value: Json): JsonTemplate | undefined {
    const templates = this.#templates.get(outlineOf(value) ?? '') ?? [];
    if (!(value instanceof JsonObject)) return templates[0];
    return templates.find((model) => startsWithKeysOf(value, model.value));
  }

  same(text: string): Earlier | undefined {
    return this.#byText.get(text);
  }

  /** The last text from this source of which nothing was left out; or else the last JSON of the same thing. */
  lastOf(source: string, value?: Json): Earlier | undefined {
    const identity = value === undefined ? undefined : identityOf(value);
    return this.#lastOf.get(source) ?? (identity === undefined ? undefined : this.#lastOf.get(identity));
  }

  /** The unchanged text that shares most with these lines, if it shares a good part of them; perhaps no user's. */
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

/** What tells a JSON object from others with the same keys: its first value, where that is an id or a name. */
function identityOf(value: Json): string | undefined {
  if (!(value instanceof JsonObject)) return undefined;
  const [first] = value.values;
  const isName = typeof first === 'string' && /^(?:"[^"]{2,}"|\d{2,})$/.test(first);
  return isName ? `${outlineOf(value)}\n${first}` : undefined;
}

/** A line without the number that a file viewer put before it: an insertion renumbers all lines below. */
export function keyOfLine(line: string): string {
  return NUMBER.test(line) ? line.replace(NUMBER, '') : line;
}

export const NUMBER = /^\s*\d+(?:\t|→|:|\|| {2})/;
