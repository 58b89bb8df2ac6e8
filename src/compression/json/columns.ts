import { remembered } from '../../json/grouped.ts';
import { type Json, JsonArray, JsonObject } from './read.ts';

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
  remembered(byKeys, keys.join(','), () => ({ id: 0, keys, records: [] })).records.push(record);
}

/** Keys that are data (dates, ids) are no column names: as a shape they would separate values from their keys. */
function isKeyedByData(keys: readonly string[]): boolean {
  const data = keys.filter((key) => /\d\D?\d\D?\d/.test(key) || key.length > 60).length;
  return data * 2 > keys.length;
}

/** How one field of a shape is written. The head states it once for all records. */
export type Column =
  | { kind: 'plain' }
  /** The same primitive in every record; left out of the records. */
  | { kind: 'constant'; value: string }
  /** Every list, map or record in this field has one shape, so it needs no tag. */
  | { kind: 'typed'; type: ContainerType };

export interface ContainerType {
  container: 'record' | 'list' | 'map';
  shape: Shape;
}

/** The column for each key of a shape. */
export function columnsOf(shape: Shape, shapeOf: Shapes): Column[] {
  return shape.keys.map((_, place): Column => {
    const values = shape.records.map((record) => record.values[place] ?? 'null');
    const [first] = values;
    if (typeof first === 'string' && values.every((value) => value === first))
      return { kind: 'constant', value: first };
    const type = commonType(values, shapeOf);
    return type ? { kind: 'typed', type } : { kind: 'plain' };
  });
}

function commonType(values: readonly Json[], shapeOf: Shapes): ContainerType | undefined {
  let common: ContainerType | undefined;
  for (const value of values) {
    if (typeof value === 'string') continue;
    const type = typeOf(value, shapeOf);
    if (!type || (common && (type.shape !== common.shape || type.container !== common.container)))
      return undefined;
    common = type;
  }
  return common;
}

/** The shape of a record, of all items of a list, or of all values of a map. */
export function typeOf(value: Json, shapeOf: Shapes): ContainerType | undefined {
  if (typeof value === 'string') return undefined;
  if (value instanceof JsonObject) {
    const own = shapeOf.get(value);
    if (own) return { container: 'record', shape: own };
  }
  const children = value instanceof JsonArray ? value.items : value.values;
  const [first] = children;
  const shape = first instanceof JsonObject ? shapeOf.get(first) : undefined;
  if (!shape) return undefined;
  const alike = children.every((child) => child instanceof JsonObject && shapeOf.get(child) === shape);
  return alike ? { container: value instanceof JsonArray ? 'list' : 'map', shape } : undefined;
}
