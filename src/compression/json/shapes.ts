import { type Json, JsonObject } from './read.ts';

/** Objects with the same keys. Each is written as a record `(value,value)` in the order of `keys`. */
export interface Shape {
  id: number;
  keys: readonly string[];
  records: JsonObject[];
}

/** The shape of each object. An object without one is written with its keys. */
export type Shapes = Map<JsonObject, Shape>;

/** Finds objects with the same keys. */
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

function walk(value: Json, byKeys: Map<string, Shape>): void {
  if (typeof value === 'string') return;
  if (value instanceof JsonObject) add(byKeys, value);
  for (const child of value instanceof JsonObject ? value.values : value.items) walk(child, byKeys);
}

function add(byKeys: Map<string, Shape>, record: JsonObject): void {
  const { keys } = record;
  if (keys.length === 0 || isKeyedByData(keys)) return;
  const signature = keys.join(',');
  const shape = byKeys.get(signature);
  if (shape) shape.records.push(record);
  else byKeys.set(signature, { id: 0, keys, records: [record] });
}

/** Keys that are data (dates, ids) are no column names: as a shape they would separate values from their keys. */
function isKeyedByData(keys: readonly string[]): boolean {
  const data = keys.filter((key) => /\d\D?\d\D?\d/.test(key) || key.length > 60).length;
  return data * 2 > keys.length;
}
