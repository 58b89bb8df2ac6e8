import { type Json, JsonArray } from './json-read.ts';

/** Long starts of URLs and paths that many strings share; `"~1x"` stands for the first one followed by x. */
export type Prefixes = readonly string[];

const MAX_PREFIXES = 9;
const MIN_LENGTH = 16;
const MAX_STRINGS = 20_000;

/** Chooses the prefixes that save most; none where a string could be mistaken for an abbreviated one. */
export function findPrefixes(root: Json, keepKey: (key: string) => boolean): Prefixes {
  const texts = new Map<string, number>();
  if (!collect(root, texts, keepKey) || texts.size > MAX_STRINGS) return [];
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

function collect(value: Json, texts: Map<string, number>, keepKey: (key: string) => boolean): boolean {
  if (typeof value === 'string') {
    if (value.startsWith('"~')) return false;
    if (value.length <= MIN_LENGTH || !value.includes('/')) return true;
    const text = value.slice(1, -1);
    texts.set(text, (texts.get(text) ?? 0) + 1);
    return true;
  }
  if (value instanceof JsonArray) return value.items.every((item) => collect(item, texts, keepKey));
  return value.values.every((child, i) => {
    const kept = typeof child === 'string' && !child.startsWith('"~') && keepKey(value.keys[i] ?? '');
    return kept || collect(child, texts, keepKey);
  });
}

function bestPrefix(
  strings: readonly { text: string; count: number; covered: number }[],
): string | undefined {
  const gains = new Map<string, number>();
  for (const { text, count, covered } of strings) {
    for (let at = text.indexOf('/', MIN_LENGTH - 1); at >= 0 && at < 200; at = text.indexOf('/', at + 1)) {
      const prefix = text.slice(0, at + 1);
      const gain = at + 1 > covered ? (at + 1 - Math.max(covered, 8)) * count : 0;
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
