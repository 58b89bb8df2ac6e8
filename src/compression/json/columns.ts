import { type Determinant, determinantsOf, determinedBy } from './dependent-columns.ts';
import { type Derived, derive, type KeysOfRecords } from './derived-columns.ts';
import { type Json, JsonArray, JsonObject } from './read.ts';
import type { Shape, Shapes } from './shapes.ts';

/** How one field of a shape is written. The head states it once for all records. */
export type Column =
  | Plain
  /** The same primitive in every record; left out of the records. */
  | { kind: 'constant'; value: string }
  | Derived
  /** Every list, map or record in this field has one shape, so it needs no tag. */
  | { kind: 'typed'; type: ContainerType };

interface Plain {
  kind: 'plain';
  /** The field that determines this one, so that each pair of values is written once. */
  by: number | undefined;
}

export interface ContainerType {
  container: 'record' | 'list' | 'map';
  shape: Shape;
}

export interface ColumnContext {
  shapeOf: Shapes;
  keys: KeysOfRecords;
  /** Whether the strings under a key must stay whole. */
  keepKey: (key: string) => boolean;
}

/** The column for each key of a shape. */
export function columnsOf(shape: Shape, context: ColumnContext): Column[] {
  const determinants = determinantsOf(shape);
  return shape.keys.map((key, place) => {
    const column = columnAt(shape, place, { ...context, determinants });
    return isPartial(column) && context.keepKey(key) ? { kind: 'plain', by: undefined } : column;
  });
}

/** Whether a record of this column may not contain its whole value. */
function isPartial(column: Column): boolean {
  if (column.kind === 'derived') return column.source !== undefined;
  return column.kind === 'plain' && column.by !== undefined;
}

function columnAt(
  shape: Shape,
  place: number,
  { shapeOf, keys, determinants }: ColumnContext & { determinants: readonly Determinant[] },
): Column {
  const values = shape.records.map((record) => record.values[place] ?? 'null');
  const [first] = values;
  if (typeof first === 'string') {
    const derived = derive(shape, place, keys);
    if (derived) return derived;
    if (values.every((value) => value === first)) return { kind: 'constant', value: first };
  }
  const type = commonType(values, shapeOf);
  return type ? { kind: 'typed', type } : { kind: 'plain', by: determinedBy(shape, place, determinants) };
}

function commonType(values: readonly Json[], shapeOf: Shapes): ContainerType | undefined {
  let common: ContainerType | undefined;
  for (const value of values) {
    if (typeof value === 'string') continue;
    const type = typeOf(value, shapeOf);
    if (!type || (common && (type.shape !== common.shape || type.container !== common.container))) {
      return undefined;
    }
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
