import { type Json, JsonArray, JsonObject, writeJson } from './read.ts';

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
