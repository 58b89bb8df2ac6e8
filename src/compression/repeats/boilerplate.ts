import { estimateTokens } from '../prompt/estimate.ts';
import { MARK } from '../prompt/marks.ts';

/** At most this many first and last lines are cut, within this many characters of the start and end. */
const MAX_LINES = 12;
const MAX_LENGTH = 4000;
/** A line is named by this many of its first characters. */
const NAME = 24;
const WORTH = 0.7;

/** A text without the first and last lines that an earlier text had, and the marks in their place. */
export interface Cut {
  head: string;
  /** The range of the text that is left. */
  from: number;
  end: number;
  tail: string;
}

/** The last occurrence of a line, and how many lines from it on were the same at all occurrences. */
interface Place {
  lines: readonly string[];
  at: number;
  agreed: number;
}

/** The lines that tools repeat around their results, as sent: notes, table headers, banners. */
export class Boilerplate {
  readonly #places = new Map<string, Place>();

  /** Records all lines of a text, the middle ones too: a mark must not be ambiguous. */
  add(text: string): void {
    const lines = bodyOf(text).split('\n');
    for (let at = 0; at < lines.length; at++) this.#addLine(lines, at);
  }

  #addLine(lines: readonly string[], at: number): void {
    const name = nameOf(lines[at] ?? '');
    if (name === undefined) return;
    const before = this.#places.get(name);
    const all = Math.min(MAX_LINES, lines.length - at);
    const agreed = before ? Math.min(before.agreed, sharedFrom(before, lines, at)) : all;
    this.#places.set(name, { lines, at, agreed });
  }

  /** Cuts the first and last lines that occurred before if a mark is shorter; `after` keeps the first lines. */
  cut(text: string, where: 'around' | 'after' = 'around'): Cut {
    const start = where === 'after' ? [] : endsOf(text).head;
    const first = start.slice(0, this.#countHead(start));
    const from = lengthOf(first, text.length);
    const { tail } = endsOf(text.slice(from));
    const rest = where === 'after' ? tail.slice(1) : tail;
    const last = from === text.length ? [] : rest.slice(rest.length - this.#countTail(rest));
    const ended = text.endsWith('\n') ? '\n' : '';
    const end = last.length === 0 ? text.length : text.length - last.join('\n').length - ended.length;
    const head = first.length === 0 ? '' : markOf(first) + (from === text.length ? ended : '\n');
    return { head, from, end, tail: last.length === 0 ? '' : markOf(last) + ended };
  }

  #countHead(lines: readonly string[]): number {
    const count = this.#countFrom(lines, 0);
    return isWorth(lines.slice(0, count)) ? count : 0;
  }

  #countTail(lines: readonly string[]): number {
    for (let from = 0; from < lines.length; from++) {
      const count = lines.length - from;
      if (this.#countFrom(lines, from) === count) return isWorth(lines.slice(from)) ? count : 0;
    }
    return 0;
  }

  #countFrom(lines: readonly string[], at: number): number {
    const name = nameOf(lines[at] ?? '');
    const place = name === undefined ? undefined : this.#places.get(name);
    return place ? Math.min(place.agreed, sharedFrom(place, lines, at)) : 0;
  }
}

/** The mark for repeated lines, named by the start of the first. */
function markOf(lines: readonly string[]): string {
  const more = lines.length - 1;
  return `[gw: "${nameOf(lines[0] ?? '')}…"${more > 0 ? ` and ${more} more line${more > 1 ? 's' : ''}` : ''} as before]`;
}

/** Length of the first lines of a text, with their newlines. */
function lengthOf(lines: readonly string[], most: number): number {
  return Math.min(
    most,
    lines.reduce((sum, line) => sum + line.length + 1, 0),
  );
}

function isWorth(lines: readonly string[]): boolean {
  return lines.length > 0 && estimateTokens(markOf(lines)) <= estimateTokens(lines.join('\n')) * WORTH;
}

function nameOf(line: string): string | undefined {
  const name = line.trimStart().slice(0, NAME);
  // A name must not split a surrogate pair or be a mark of gw.
  return name.length < NAME || /[\ud800-\udbff]$/.test(name) || name.startsWith(MARK) ? undefined : name;
}

function sharedFrom(place: Place, lines: readonly string[], at: number): number {
  let count = 0;
  while (
    count < MAX_LINES &&
    place.at + count < place.lines.length &&
    at + count < lines.length &&
    place.lines[place.at + count] === lines[at + count]
  )
    count++;
  return count;
}

function bodyOf(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

/** The first and last whole lines of a text; the same list twice for a short text. */
function endsOf(text: string): { head: readonly string[]; tail: readonly string[] } {
  const body = bodyOf(text);
  if (body.length <= MAX_LENGTH) {
    const lines = body.split('\n');
    if (lines.length <= MAX_LINES) return { head: lines, tail: lines };
    return { head: lines.slice(0, MAX_LINES), tail: lines.slice(-MAX_LINES) };
  }
  const head = body.slice(0, MAX_LENGTH).split('\n').slice(0, -1).slice(0, MAX_LINES);
  const tail = body.slice(-MAX_LENGTH).split('\n').slice(1).slice(-MAX_LINES);
  return { head, tail };
}
