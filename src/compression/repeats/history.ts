import { type Json, JsonObject, readWhole } from '../json/read.ts';
import { type JsonTemplate, outlineOf, startsWithKeysOf } from '../json/template.ts';
import { REFERENCE } from '../prompt/marks.ts';

/** An earlier text of the conversation that can be referred to. */
export interface Earlier {
  text: string;
  /** Its name in references. */
  name: string;
  /** The text as it was sent. */
  output: string;
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
  /** The tool that printed it. */
  tool?: string | undefined;
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
    // A value that was sent with its keys is a template for later ones.
    if (earlier.output.startsWith(REFERENCE) || this.templateOf(value)) return;
    const templates = this.#templates.get(outline) ?? [];
    if (templates.length < MAX_HOLDERS) this.#templates.set(outline, [...templates, { value, name }]);
  }

  /** An earlier JSON value whose keys this one starts with. */
  templateOf(value: Json): JsonTemplate | undefined {
    const templates = this.#templates.get(outlineOf(value) ?? '') ?? [];
    if (!(value instanceof JsonObject)) return templates[0];
    return templates.find((model) => startsWithKeysOf(value, model.value));
  }

  same(text: string): Earlier | undefined {
    return this.#byText.get(text);
  }

  /** The last complete text from this source, or else the last JSON value with the same identity. */
  lastOf(source: string, value?: Json): Earlier | undefined {
    const identity = value === undefined ? undefined : identityOf(value);
    return this.#lastOf.get(source) ?? (identity === undefined ? undefined : this.#lastOf.get(identity));
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

/** Identifies a JSON object among those with the same keys: by its first value, if that is an id or a name. */
function identityOf(value: Json): string | undefined {
  if (!(value instanceof JsonObject)) return undefined;
  const [first] = value.values;
  const isName = typeof first === 'string' && /^(?:"[^"]{2,}"|\d{2,})$/.test(first);
  return isName ? `${outlineOf(value)}\n${first}` : undefined;
}

/** A line without the line number of a file viewer, which changes with every insertion above. */
export function keyOfLine(line: string): string {
  return NUMBER.test(line) ? line.replace(NUMBER, '') : line;
}

export const NUMBER = /^\s*\d+(?:\t|→|:|\|| {2})/;
