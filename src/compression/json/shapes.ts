import { type Json, type JsonArray, JsonObject } from './read.ts';

/** Objects with the same keys. Each is written as a record `(value,value)` in the order of `keys`. */
export interface Shape {
  id: number;
  keys: readonly string[];
  records: JsonObject[];
}

/** The shape of each object. An object without one is written with its keys. */
export type Shapes = Map<JsonObject, Shape>;

/** Finds objects with the same keys. Similar rows of one list share a shape, with gaps for missing keys. */
export function findShapes(root: Json): { shapes: Shape[]; shapeOf: Shapes } {
  const byKeys = new Map<string, Shape>();
  walk(root, byKeys);
  const shapes = [...byKeys.values()].filter((shape) => shape.records.length > 1);
  const shapeOf: Shapes = new Map();
  shapes.forEach((shape, i) => {
    shape.id = i + 1;
    for (const record of shape.records) shapeOf.set(record, shape);
  });
  return { shapes, shapeOf };
}

/** The value of a key in a record; undefined if the record lacks the key. */
export function cellOf(record: JsonObject, keys: readonly string[], place: number): Json | undefined {
  return record.values[placeOf(record.keys, keys[place] ?? '', place)];
}

/** Index of a key, or -1. `usual` is tried first: its index in most rows. */
export function placeOf(keys: readonly string[], key: string, usual: number): number {
  return keys[usual] === key ? usual : keys.indexOf(key);
}

function walk(value: Json, byKeys: Map<string, Shape>): void {
  if (typeof value === 'string') return;
  if (value instanceof JsonObject) {
    add(byKeys, value.keys, [value]);
    for (const child of value.values) walk(child, byKeys);
    return;
  }
  addRows(value, byKeys);
  for (const item of value.items) {
    if (item instanceof JsonObject) for (const child of item.values) walk(child, byKeys);
    else walk(item, byKeys);
  }
}

function addRows(list: JsonArray, byKeys: Map<string, Shape>): void {
  const rows = list.items.filter((item) => item instanceof JsonObject);
  const union = rows.length > 2 ? unionOfKeys(rows) : undefined;
  if (union) add(byKeys, union, rows);
  else for (const row of rows) add(byKeys, row.keys, [row]);
}

function add(byKeys: Map<string, Shape>, keys: readonly string[], records: JsonObject[]): void {
  if (keys.length === 0 || isKeyedByData(keys)) return;
  const signature = keys.join(',');
  const shape = byKeys.get(signature);
  if (shape) shape.records.push(...records);
  else byKeys.set(signature, { id: 0, keys, records: [...records] });
}

/** Keys that are data (dates, ids) are no column names: as a shape they would separate values from their keys. */
function isKeyedByData(keys: readonly string[]): boolean {
  const data = keys.filter((key) => /\d\D?\d\D?\d/.test(key) || key.length > 60).length;
  return data * 2 > keys.length;
}

/** A key order that all rows follow, if the rows are similar enough to leave few gaps. */
function unionOfKeys(rows: readonly JsonObject[]): string[] | undefined {
  const union: string[] = [];
  const members = new Set<string>();
  let cells = 0;
  for (const row of rows) {
    cells += row.keys.length;
    if (row.keys.length === union.length && row.keys.every((key, i) => key === union[i])) continue;
    let at = 0;
    for (const key of row.keys) {
      if (members.has(key)) {
        at = union.indexOf(key) + 1;
        continue;
      }
      members.add(key);
      union.splice(at++, 0, key);
    }
    if (union.length > 200) return undefined;
  }
  const alike = union.length * rows.length <= cells * 1.3 + 4;
  return alike && rows.every((row) => followsOrder(row.keys, union)) ? union : undefined;
}

function followsOrder(keys: readonly string[], order: readonly string[]): boolean {
  let at = 0;
  for (const key of keys) {
    while (at < order.length && order[at] !== key) at++;
    if (at++ === order.length) return false;
  }
  return true;
}
