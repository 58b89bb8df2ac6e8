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

interface ColumnContext {
  shapeOf: Shapes;
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
  if (column.kind === 'derived') return true;
  return column.kind === 'plain' && column.by !== undefined;
}

function columnAt(
  shape: Shape,
  place: number,
  { shapeOf, determinants }: ColumnContext & { determinants: readonly Determinant[] },
): Column {
  const values = shape.records.map((record) => record.values[place] ?? 'null');
  const [first] = values;
  if (typeof first === 'string') {
    const derived = derive(shape, place);
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

/** A field whose strings all contain another field's value, as links contain their row's id or address. */
export interface Derived {
  kind: 'derived';
  before: string;
  /** The key of the other field. */
  source: string;
  after: string;
}

/** Shorter values are contained in others by coincidence. */
const MIN_SOURCE = 3;
const MIN_GAIN = 4;
const MAX_TRIES = 8;
const PLAIN_KEY = /^"[A-Za-z_][A-Za-z0-9_-]*"$/;
const JSON_WORD = /^"(?:true|false|null)"$/;

/** How a field can be derived from an earlier one in all records, if it can. */
function derive(shape: Shape, place: number): Derived | undefined {
  const [first] = shape.records;
  const value = first && textOf(first.values[place]);
  if (!first || value === undefined || value.length < MIN_SOURCE || /[\\"]/.test(value)) return undefined;
  const isSame = shape.records.every((record) => record.values[place] === `"${value}"`);
  for (const { key, source, from } of sourcesOf(first, value, shape.keys.slice(0, place))) {
    // A constant is written once anyway.
    if (isSame && source.length < key.length + MIN_GAIN) continue;
    const at = value.indexOf(source);
    const before = value.slice(0, at);
    const after = value.slice(at + source.length);
    const all = shape.records.every((record) => {
      const other = inner(record.values[from]);
      return other !== undefined && textOf(record.values[place]) === before + other + after;
    });
    if (all) return { kind: 'derived', before, source: key, after };
  }
  return undefined;
}

interface Source {
  key: string;
  source: string;
  from: number;
}

/** The earlier fields whose value is part of this one, longest value first. */
function sourcesOf(record: JsonObject, value: string, keys: readonly string[]): Source[] {
  const sources: Source[] = [];
  keys.forEach((key, from) => {
    const source = inner(record.values[from]) ?? '';
    if (source.length < MIN_SOURCE) return;
    if (value.includes(source) && PLAIN_KEY.test(key) && !JSON_WORD.test(key))
      sources.push({ key, source, from });
  });
  return sources.sort((a, b) => b.source.length - a.source.length || a.from - b.from).slice(0, MAX_TRIES);
}

/** A string without its quotes. */
function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value[0] === '"' ? value.slice(1, -1) : undefined;
}

/** A primitive as it may appear inside a string. */
function inner(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? (textOf(value) ?? value) : undefined;
}

/** Values below this mean length, quotes included, are as cheap to repeat. */
const MIN_MEAN_LENGTH = 8;
/** This many rows must repeat a value. With fewer, a dependency may be coincidence. */
const MIN_AGAIN = 6;
const MIN_SHARE = 0.25;
const MAX_DETERMINANTS = 4;

/** A field with repeated values, which may determine the values of later fields. */
interface Determinant {
  place: number;
  values: readonly string[];
  /** Number of distinct values. */
  kinds: number;
}

/** The first fields of a shape that may be determinants. */
function determinantsOf(shape: Shape): Determinant[] {
  const determinants: Determinant[] = [];
  for (let place = 0; place < shape.keys.length && determinants.length < MAX_DETERMINANTS; place++) {
    const values = PLAIN_KEY.test(shape.keys[place] ?? '') ? stringsAt(shape, place) : undefined;
    const kinds = new Set(values).size;
    if (values && isRepeated(kinds, values.length)) determinants.push({ place, values, kinds });
  }
  return determinants;
}

/**
 * The earlier field whose value determines this one's in every record (a functional dependency), as a product's name
 * determines its number in joined rows.
 */
function determinedBy(shape: Shape, place: number, determinants: readonly Determinant[]): number | undefined {
  const values = determinants.length > 0 ? stringsAt(shape, place) : undefined;
  const length = values?.reduce((sum, value) => sum + value.length, 0) ?? 0;
  if (!values || length < values.length * MIN_MEAN_LENGTH) return undefined;
  const kinds = new Set(values).size;
  // Few distinct values depend on others by coincidence, and a constant is written once anyway.
  if (kinds < 2 || !isRepeated(kinds, values.length)) return undefined;
  return determinants.find(
    (other) => other.place < place && kinds * 2 >= other.kinds && determines(other.values, values),
  )?.place;
}

function isRepeated(kinds: number, count: number): boolean {
  return count - kinds >= Math.max(MIN_AGAIN, count * MIN_SHARE);
}

function determines(others: readonly string[], values: readonly string[]): boolean {
  const dependents = new Map<string, string>();
  return others.every((other, i) => {
    const value = values[i] ?? '';
    const before = dependents.get(other);
    if (before === undefined) dependents.set(other, value);
    return before === undefined || before === value;
  });
}

/** The values of a field, if every record has a primitive there. */
function stringsAt(shape: Shape, place: number): string[] | undefined {
  const values: string[] = [];
  for (const record of shape.records) {
    const value: Json | undefined = record.values[place];
    if (typeof value !== 'string') return undefined;
    values.push(value);
  }
  return values;
}
