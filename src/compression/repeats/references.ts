import { type Json, JsonArray, JsonObject, readWhole, writeJson } from '../json/read.ts';
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

export interface JsonChange {
  /** Path, such as `[17]."status"`. */
  path: string;
  /** Identifies the row, such as `order_id "#W1"`. */
  label: string;
  /** Empty for a new field, and for a list or an object, which the earlier text shows. */
  before: string;
  after: string;
}

const MAX_CHANGES = 24;
const MAX_VALUE = 400;
const ID_KEY = /(?:id|key|name|number|code|sha|slug|email)"$/i;

/** The differences between two JSON values; undefined if they differ in form or in too many places. */
export function diffJson(before: Json, after: Json): JsonChange[] | undefined {
  const changes: JsonChange[] = [];
  return compare(before, after, '', '', changes) ? changes : undefined;
}

function compare(a: Json | undefined, b: Json, path: string, label: string, changes: JsonChange[]): boolean {
  if (a instanceof JsonArray && b instanceof JsonArray && a.items.length === b.items.length) {
    return a.items.every((item, i) => {
      const other = b.items[i] ?? 'null';
      return compare(item, other, `${path}[${i}]`, labelOf(other) || label, changes);
    });
  }
  if (a instanceof JsonObject && b instanceof JsonObject && a.keys.every((key, i) => key === b.keys[i])) {
    // Appended fields are changes from nothing.
    return b.values.every((value, i) => compare(a.values[i], value, `${path}.${b.keys[i]}`, label, changes));
  }
  const after = writeJson(b);
  if (a !== undefined && writeJson(a) === after) return true;
  // Another form at the root, or a long value, is a different result rather than a change.
  if (path === '' || changes.length >= MAX_CHANGES || after.length > MAX_VALUE) return false;
  changes.push({ path, label, before: typeof a === 'string' ? a : '', after });
  return true;
}

function labelOf(row: Json): string {
  if (!(row instanceof JsonObject)) return '';
  const at = row.keys.findIndex((key, i) => ID_KEY.test(key) && typeof row.values[i] === 'string');
  return at < 0 ? '' : `${row.keys[at]?.slice(1, -1)} ${row.values[at]}`;
}
