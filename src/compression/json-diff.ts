import { type Json, JsonArray, JsonObject, readJson, writeJson } from './json-read.ts';

export interface JsonChange {
  /** Where, as `[17]."status"`. */
  path: string;
  /** What tells the row apart, such as `order_id "#W1"`. */
  label: string;
  before: string;
  after: string;
}

const MAX_CHANGES = 24;
const ID_KEY = /(?:id|key|name|number|code|sha|slug|email)"$/i;

/** The values that differ between two JSON texts; undefined when rows or keys came or went, or too many differ. */
export function diffJson(before: string, after: string): JsonChange[] | undefined {
  const a = readWhole(before);
  const b = readWhole(after);
  if (a === undefined || b === undefined) return undefined;
  const changes: JsonChange[] = [];
  return compare(a, b, '', '', changes) ? changes : undefined;
}

/** The earlier JSON text with the changes made, without white space; undoes `diffJson`. */
export function applyJsonChanges(before: string, changes: readonly JsonChange[]): string {
  const after = new Map(changes.map((change) => [change.path, change.after]));
  const root = readWhole(before);
  if (root === undefined) throw new Error('not JSON');
  const write = (value: Json, path: string): string => {
    const changed = after.get(path);
    if (changed !== undefined) return changed;
    if (typeof value === 'string') return value;
    if (value instanceof JsonArray)
      return `[${value.items.map((item, i) => write(item, `${path}[${i}]`)).join(',')}]`;
    const fields = value.keys.map((key, i) => `${key}:${write(value.values[i] ?? 'null', `${path}.${key}`)}`);
    return `{${fields.join(',')}}`;
  };
  return write(root, '');
}

function compare(a: Json, b: Json, path: string, label: string, changes: JsonChange[]): boolean {
  if (a instanceof JsonArray && b instanceof JsonArray && a.items.length === b.items.length) {
    return a.items.every((item, i) => {
      const other = b.items[i] ?? 'null';
      return compare(item, other, `${path}[${i}]`, labelOf(other) || label, changes);
    });
  }
  if (a instanceof JsonObject && b instanceof JsonObject && a.keys.join() === b.keys.join()) {
    return a.values.every((value, i) =>
      compare(value, b.values[i] ?? 'null', `${path}.${b.keys[i]}`, label, changes),
    );
  }
  const before = writeJson(a);
  const after = writeJson(b);
  if (before === after) return true;
  // A list or object of another form at the top is another answer, not a change.
  if (path === '' || changes.length >= MAX_CHANGES) return false;
  changes.push({ path, label, before, after });
  return true;
}

function labelOf(row: Json): string {
  if (!(row instanceof JsonObject)) return '';
  const at = row.keys.findIndex((key, i) => ID_KEY.test(key) && typeof row.values[i] === 'string');
  return at < 0 ? '' : `${row.keys[at]?.slice(1, -1)} ${row.values[at]}`;
}

function readWhole(text: string): Json | undefined {
  const read = readJson(text);
  return read && text.slice(read.end).trim() === '' ? read.value : undefined;
}
