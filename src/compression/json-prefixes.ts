import { type Json, JsonArray, type JsonObject } from './json-read.ts';

/** Long starts of URLs and paths that many strings share; `"~1x"` stands for the first one followed by x. */
export type Prefixes = readonly string[];

/** Whether a field of an object is written out where it stands, so that a prefix could shorten it. */
export type IsWritten = (object: JsonObject, place: number) => boolean;

const MAX_PREFIXES = 9;
const MIN_LENGTH = 16;
const MAX_PREFIX = 200;
const MAX_STRINGS = 20_000;
/** Up to so many strings a prefix may also be an address without what follows it, such as `.git` or `{/id}`. */
const MAX_CLOSELY = 2000;
const AFTER_SLASH = /(?<=\/)/g;
const AROUND_SIGNS = /(?<=\/)|(?=[/.{?#:])|$/g;

/** Chooses the prefixes that save most; none where a string could be mistaken for an abbreviated one. */
export function findPrefixes(root: Json, isWritten: IsWritten): Prefixes {
  const texts = new Map<string, number>();
  if (!collect(root, texts, isWritten) || texts.size > MAX_STRINGS) return [];
  const strings = [...texts].map(([text, count]) => ({ text, count, covered: 0 }));
  const prefixes: string[] = [];
  while (prefixes.length < MAX_PREFIXES) {
    const best = bestPrefix(strings);
    if (best === undefined) break;
    prefixes.push(best);
    for (const string of strings) {
      if (string.text.startsWith(best)) string.covered = Math.max(string.covered, best.length);
    }
  }
  return prefixes;
}

/** `"~1x"` for a string that starts with the first prefix, itself otherwise. */
export function abbreviate(text: string, prefixes: Prefixes): string {
  let found = -1;
  prefixes.forEach((prefix, i) => {
    if (text.startsWith(prefix, 1) && prefix.length > (prefixes[found]?.length ?? 0)) found = i;
  });
  const prefix = prefixes[found];
  return prefix === undefined ? text : `"~${found + 1}${text.slice(1 + prefix.length)}`;
}

function collect(value: Json, texts: Map<string, number>, isWritten: IsWritten): boolean {
  if (typeof value === 'string') {
    if (value.startsWith('"~')) return false;
    if (value.length <= MIN_LENGTH || !value.includes('/')) return true;
    const text = value.slice(1, -1);
    texts.set(text, (texts.get(text) ?? 0) + 1);
    return true;
  }
  if (value instanceof JsonArray) return value.items.every((item) => collect(item, texts, isWritten));
  return value.values.every((child, i) => {
    const skipped = typeof child === 'string' && !child.startsWith('"~') && !isWritten(value, i);
    return skipped || collect(child, texts, isWritten);
  });
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
