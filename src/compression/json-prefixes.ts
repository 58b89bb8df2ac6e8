import { type Json, JsonArray, type JsonObject } from './json-read.ts';

/** Long starts of URLs and paths that many strings share; `"~x"` stands for the text of `~` followed by x. */
export type Prefixes = readonly Prefix[];

export interface Prefix {
  sign: string;
  text: string;
}

/** Whether a field of an object is written out where it stands, so that a prefix could shorten it. */
export type IsWritten = (object: JsonObject, place: number) => boolean;

/** Those are taken that no string starts with; each is one token, or part of one. */
const SIGNS = [...'~$*!^%@&;'];
const MIN_LENGTH = 16;
const MAX_PREFIX = 200;
const MAX_STRINGS = 20_000;
/** Up to so many strings a prefix may also be an address without what follows it, such as `.git` or `{/id}`. */
const MAX_CLOSELY = 2000;
const AFTER_SLASH = /(?<=\/)/g;
const AROUND_SIGNS = /(?<=\/)|(?=[/.{?#:])|$/g;

/** Chooses the prefixes that save most, and for each a sign that no string starts with. */
export function findPrefixes(root: Json, isWritten: IsWritten): Prefixes {
  const texts = new Map<string, number>();
  const starts = new Set<string>();
  collect(root, { texts, starts, isWritten });
  if (texts.size > MAX_STRINGS) return [];
  const strings = [...texts].map(([text, count]) => ({ text, count, covered: 0 }));
  const prefixes: Prefix[] = [];
  for (const sign of SIGNS) {
    if (starts.has(sign)) continue;
    const text = bestPrefix(strings);
    if (text === undefined) break;
    prefixes.push({ sign, text });
    for (const string of strings) {
      if (string.text.startsWith(text)) string.covered = Math.max(string.covered, text.length);
    }
  }
  return prefixes;
}

/** `"~x"` for a string that starts with the prefix of that sign, itself otherwise. */
export function abbreviate(text: string, prefixes: Prefixes): string {
  let found: Prefix | undefined;
  for (const prefix of prefixes) {
    if (prefix.text.length > (found?.text.length ?? 0) && text.startsWith(prefix.text, 1)) found = prefix;
  }
  return found ? `"${found.sign}${text.slice(1 + found.text.length)}` : text;
}

interface Found {
  /** How often each string occurs that may have a prefix. */
  texts: Map<string, number>;
  /** The first characters of all strings. */
  starts: Set<string>;
  isWritten: IsWritten;
}

function collect(value: Json, found: Found): void {
  if (typeof value === 'string') collectText(value, found);
  else if (value instanceof JsonArray) for (const item of value.items) collect(item, found);
  else
    value.values.forEach((child, i) => {
      if (typeof child !== 'string' || found.isWritten(value, i)) collect(child, found);
      else found.starts.add(child[1] ?? '');
    });
}

function collectText(value: string, { texts, starts }: Found): void {
  if (value[0] !== '"') return;
  starts.add(value[1] ?? '');
  if (value.length <= MIN_LENGTH || !value.includes('/')) return;
  const text = value.slice(1, -1);
  texts.set(text, (texts.get(text) ?? 0) + 1);
}

/** Where a prefix of the text may end. */
function cutsIn(text: string, cut: RegExp): number[] {
  const cuts: number[] = [];
  cut.lastIndex = MIN_LENGTH - 1;
  for (let found = cut.exec(text); found && found.index < MAX_PREFIX; found = cut.exec(text)) {
    cuts.push(found.index);
    cut.lastIndex = found.index + 1;
  }
  return cuts;
}

function bestPrefix(
  strings: readonly { text: string; count: number; covered: number }[],
): string | undefined {
  const gains = new Map<string, number>();
  const isCut = strings.length > MAX_CLOSELY ? AFTER_SLASH : AROUND_SIGNS;
  for (const { text, count, covered } of strings) {
    for (const end of cutsIn(text, isCut)) {
      const prefix = text.slice(0, end);
      const gain = end > covered ? (end - Math.max(covered, 8)) * count : 0;
      if (!prefix.includes('\\')) gains.set(prefix, (gains.get(prefix) ?? 0) + gain);
    }
  }
  let best: string | undefined;
  let bestGain = 40;
  for (const [prefix, gain] of gains) {
    if (gain - prefix.length > bestGain) {
      best = prefix;
      bestGain = gain - prefix.length;
    }
  }
  return best;
}
