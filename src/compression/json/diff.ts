import { type Json, JsonArray, JsonObject, writeJson } from './read.ts';

export interface JsonChange {
  /** Where, as `[17]."status"`. */
  path: string;
  /** What tells the row apart, such as `order_id "#W1"`. */
  label: string;
  /** Empty for a list or an object, which is to be seen above, and for what is new. */
  before: string;
  after: string;
}

const MAX_CHANGES = 24;
const MAX_VALUE = 400;
const ID_KEY = /(?:id|key|name|number|code|sha|slug|email)"$/i;

/** The values that differ between two JSON values; undefined when they are of another form, or too many differ. */
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
    // Fields that came to the end are changes from nothing.
    return b.values.every((value, i) => compare(a.values[i], value, `${path}.${b.keys[i]}`, label, changes));
  }
  const after = writeJson(b);
  if (a !== undefined && writeJson(a) === after) return true;
  // A list or object of another form at the top is another answer, and so is a long one; not a change.
  if (path === '' || changes.length >= MAX_CHANGES || after.length > MAX_VALUE) return false;
  changes.push({ path, label, before: typeof a === 'string' ? a : '', after });
  return true;
}

function labelOf(row: Json): string {
  if (!(row instanceof JsonObject)) return '';
  const at = row.keys.findIndex((key, i) => ID_KEY.test(key) && typeof row.values[i] === 'string');
  return at < 0 ? '' : `${row.keys[at]?.slice(1, -1)} ${row.values[at]}`;
}
