import { diffJson } from '../json/diff.ts';
import { readWhole } from '../json/read.ts';
import type { History } from './history.ts';
import { copiedLength, copyOf, MIN_LINES, writeCopy } from './near-copies.ts';

/** A shorter text is not worth the look. */
const MIN_PASTE = 400;

/**
 * A later copy refers to the earlier one, a near copy gives its changes; undefined when there is none.
 * `source` names where the text is from, such as the tool call.
 */
export function referToEarlier(text: string, source: string, history: History): string | undefined {
  const same = history.same(text);
  if (same) return same.exact ? `[gw: the same as ${same.name} above]` : undefined;
  return referByJson(text, source, history) ?? referByLines(text, history);
}

function referByJson(text: string, source: string, history: History): string | undefined {
  const value = /^\s*[[{]/.test(text) ? readWhole(text) : undefined;
  const earlier = value && history.lastOf(source, value);
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
 * A user's words with what they hold of an earlier answer or tool result as references: that is not their own. Only
 * where it is most of that, since lines are hard to find by their number in the midst of what has no numbers.
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
