import { diffJson } from '../json/diff.ts';
import { readWhole } from '../json/read.ts';
import type { History } from './history.ts';
import { copiedLength, copyOf, MIN_LINES, writeCopy } from './near-copies.ts';

/** Shorter texts are not looked up. */
const MIN_PASTE = 400;

/**
 * A reference to an earlier copy of a text, with the changes of a near copy; undefined if there is none. `source`
 * names the origin of the text, such as its tool call.
 */
export function referToEarlier(text: string, source: string, history: History): string | undefined {
  const same = history.same(text);
  if (same) return same.exact ? `[gw: the same as ${same.name} above]` : undefined;
  return referByJson(text, source, history) ?? referByLines(text, history);
}

function referByJson(text: string, source: string, history: History): string | undefined {
  const value = /^\s*[[{]/.test(text) ? readWhole(text) : undefined;
  const earlier = value && history.lastOf(source);
  const before = earlier && readWhole(earlier.text);
  const changes = value && before && diffJson(before, value);
  if (!earlier || !changes) return undefined;
  if (changes.length === 0) return `[gw: the same as ${earlier.name} above]`;
  const lines = changes.map(({ path, label, before, after }) => {
    return `${path}${label && ` (${label})`}:${before && ` ${before}`} -> ${after}`;
  });
  return [`[gw: the same as ${earlier.name} above but for]`, ...lines].join('\n');
}

/**
 * A user's words with references for what they quote of an earlier answer or tool result. Only if they quote most of
 * it: a few lines are hard to find by number in a text without line numbers.
 */
export function referToAnswer(text: string, history: History): string | undefined {
  if (text.length < MIN_PASTE) return undefined;
  const lines = text.split('\n');
  const earlier = lines.length > MIN_LINES ? history.nearest(lines, true) : undefined;
  const copy = earlier && copyOf(earlier, lines);
  if (!copy || copiedLength(copy) * 2 < copy.earlier.text.length) return undefined;
  return writeCopy(copy);
}

function referByLines(text: string, history: History): string | undefined {
  const lines = text.split('\n');
  const earlier = lines.length > MIN_LINES ? history.nearest(lines) : undefined;
  const copy = earlier && copyOf(earlier, lines);
  return copy && writeCopy(copy);
}
