import { type Earlier, keyOfLine, NUMBER } from './history.ts';

/** Shorter runs are cheaper written out. */
export const MIN_LINES = 4;
const MIN_LENGTH = 100;
/** Unchanged lines kept next to a change as context. */
const CONTEXT = 1;
const MAX_CANDIDATES = 8;

/** A run of lines: new, or a copy of the earlier text from line `base` on. */
interface Stretch {
  from: number;
  end: number;
  base?: number;
}

/** A text that shares runs of lines with an earlier one. */
export interface Copy {
  earlier: Earlier;
  lines: readonly string[];
  base: readonly string[];
  stretches: readonly Stretch[];
}

/** Aligns a text with an earlier one; undefined if no shared run is worth a reference. */
export function copyOf(earlier: Earlier, lines: readonly string[]): Copy | undefined {
  const base = earlier.text.split('\n');
  const stretches = align(lines, base);
  const isCopy = stretches.some((stretch) => stretch.base !== undefined);
  return isCopy ? { earlier, lines, base, stretches } : undefined;
}

/** Characters that are copied from the earlier text. */
export function copiedLength({ lines, stretches }: Copy): number {
  return stretches.reduce(
    (sum, stretch) => sum + (stretch.base === undefined ? 0 : lengthOf(lines, stretch)),
    0,
  );
}

/** Writes the text with references for its copied lines. */
export function writeCopy({ earlier, lines, base, stretches }: Copy): string {
  const body = stretches.flatMap((stretch) => write(stretch, lines, base));
  return [`[gw: like ${earlier.name} above; "lines a-b" are the lines there, unchanged]`, ...body].join('\n');
}

const FROM_NUMBER = /^, numbered from (\d+)$/;
const FROM_START = /^, numbered from (".*")$/;
const WITHOUT = ', without numbers';

function write(
  { from, end, base: there }: Stretch,
  lines: readonly string[],
  base: readonly string[],
): string[] {
  if (there === undefined) return lines.slice(from, end);
  const out: string[] = [];
  for (let at = from; at < end; ) {
    const { how, count } = longestWay(lines, { from: at, end, base: there + at - from }, base);
    const first = there + at - from + 1;
    if (count >= MIN_LINES) out.push(`[gw: lines ${first}-${first + count - 1}${how}]`);
    else out.push(...lines.slice(at, at + Math.max(1, count)));
    at += Math.max(1, count);
  }
  return out;
}

/** The line-number change that explains most lines of a run, from its first line on. */
function longestWay(
  lines: readonly string[],
  { from, end, base: there = 0 }: Stretch,
  base: readonly string[],
): { how: string; count: number } {
  const start = NUMBER.exec(lines[from] ?? '')?.[0];
  const numbered =
    start === undefined
      ? [WITHOUT]
      : [`, numbered from ${Number(/\d+/.exec(start)?.[0])}`, `, numbered from ${JSON.stringify(start)}`];
  let best = { how: '', count: 0 };
  for (const how of ['', ...numbered]) {
    const way = wayOf(how);
    let count = 0;
    while (from + count < end && lines[from + count] === way(base[there + count] ?? '', count)) count++;
    if (count > best.count) best = { how, count };
  }
  return best;
}

/** How a line of the earlier text changes: not at all, or its number is changed, added or removed. */
export function wayOf(how: string): (line: string, i: number) => string {
  const number = FROM_NUMBER.exec(how)?.[1];
  if (number !== undefined) return (line, i) => renumber(line, Number(number) + i);
  const start = FROM_START.exec(how)?.[1];
  if (start !== undefined) {
    const first = JSON.parse(start) as string;
    const from = Number(/\d+/.exec(first)?.[0]);
    return (line, i) => renumber(first, from + i) + line;
  }
  return how === WITHOUT ? (line) => line.replace(NUMBER, '') : (line) => line;
}

/** Replaces the number of a line and keeps the width of its column. */
function renumber(line: string, number: number): string {
  return line.replace(/^(\s*)(\d+)/, (_, blanks: string, old: string) => {
    return String(number).padStart(blanks.length === 0 ? 0 : blanks.length + old.length, ' ');
  });
}

/** Splits the text into runs that the base contains and runs that it does not. */
function align(lines: readonly string[], base: readonly string[]): Stretch[] {
  const keys = lines.map(keyOfLine);
  const baseKeys = base.map(keyOfLine);
  const places = placesOf(baseKeys);
  const stretches: Stretch[] = [];
  let ownFrom = 0;
  let next = 0;
  for (let at = 0; at < lines.length; ) {
    const run = longestRun(keys, baseKeys, at, places.get(keys[at] ?? '') ?? [], next);
    const stretch = run && trim({ from: at, end: at + run.length, base: run.place }, lines.length);
    if (!run || !stretch || lengthOf(lines, stretch) < MIN_LENGTH) {
      at += Math.max(1, run?.length ?? 0);
      continue;
    }
    if (stretch.from > ownFrom) stretches.push({ from: ownFrom, end: stretch.from });
    stretches.push(stretch);
    next = run.place + run.length;
    at += run.length;
    ownFrom = stretch.end;
  }
  if (ownFrom < lines.length) stretches.push({ from: ownFrom, end: lines.length });
  return stretches;
}

function longestRun(
  keys: readonly string[],
  base: readonly string[],
  at: number,
  places: readonly number[],
  next: number,
): { place: number; length: number } | undefined {
  let best: { place: number; length: number } | undefined;
  // The line after the last run is the likeliest match, then the first occurrences.
  const candidates = base[next] === keys[at] ? [next, ...places] : places;
  for (const place of candidates.slice(0, MAX_CANDIDATES)) {
    let length = 0;
    while (
      at + length < keys.length &&
      place + length < base.length &&
      keys[at + length] === base[place + length]
    )
      length++;
    if (!best || length > best.length) best = { place, length };
    if (place === next && length >= MIN_LINES) break;
  }
  return best;
}

/** Shortens a run by the context lines next to a change. */
function trim(stretch: Stretch, lines: number): Stretch | undefined {
  const head = stretch.from === 0 ? 0 : CONTEXT;
  const tail = stretch.end === lines ? 0 : CONTEXT;
  const from = stretch.from + head;
  const end = stretch.end - tail;
  return end - from < MIN_LINES ? undefined : { from, end, base: (stretch.base ?? 0) + head };
}

function placesOf(keys: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  keys.forEach((key, at) => {
    const list = places.get(key);
    if (!list) places.set(key, [at]);
    else if (list.length < MAX_CANDIDATES) list.push(at);
  });
  return places;
}

function lengthOf(lines: readonly string[], { from, end }: Stretch): number {
  let length = 0;
  for (let at = from; at < end; at++) length += (lines[at]?.length ?? 0) + 1;
  return length;
}
