import { type Column, type ContainerType, columnsOf, typeOf } from './json-columns.ts';
import { type Derived, keysOfRecords } from './json-derived.ts';
import { abbreviate, findPrefixes, type Prefixes } from './json-prefixes.ts';
import { type Json, JsonArray, type JsonObject } from './json-read.ts';
import { cellOf, findShapes, type Shape, type Shapes } from './json-shapes.ts';

export interface EncodeOptions {
  /** Keys whose strings stay whole, because the question names them. */
  keepKey?: (key: string) => boolean;
  /** The items of the list stood one a line, without brackets. */
  lines?: boolean;
}

interface Writer {
  shapeOf: Shapes;
  columns: Map<Shape, Column[]>;
  prefixes: Prefixes;
  keepKey: (key: string) => boolean;
}

const BARE_KEY = /^"[A-Za-z_$@][A-Za-z0-9_ .$@/-]*"$/;
/** Lists of more rows than this put each on its own line. */
const ROWS_IN_LINE = 3;

/**
 * Writes a JSON value as records: keys once per shape, then values by place. Whatever is said once
 * (constants, prefixes) stands in the head, in JSON's own spelling. `decodeRecords` reads it back.
 */
export function encodeRecords(root: Json, options: EncodeOptions = {}): string {
  const { shapes, shapeOf } = findShapes(root);
  const keepKey = options.keepKey ?? (() => false);
  const context = { shapeOf, keys: keysOfRecords(root, shapeOf), keepKey };
  const columns = new Map(shapes.map((shape) => [shape, columnsOf(shape, context)]));
  const isWritten = (object: JsonObject, place: number) => {
    const shape = shapeOf.get(object);
    const column = shape && columns.get(shape)?.[shape.keys.indexOf(object.keys[place] ?? '')];
    return !keepKey(object.keys[place] ?? '') && column?.kind !== 'constant' && column?.kind !== 'derived';
  };
  const writer: Writer = { shapeOf, columns, prefixes: findPrefixes(root, isWritten), keepKey };
  const body = writeValue(root, undefined, writer);
  const head = [legend(writer, options.lines === true)];
  writer.prefixes.forEach((prefix, i) => {
    head.push(`~${i + 1}="${prefix}"`);
  });
  for (const [shape, cells] of columns) head.push(writeShape(shape, cells, writer));
  return `${head.join('\n')}\n${body}`;
}

function legend(writer: Writer, lines: boolean): string {
  const columns = [...writer.columns.values()].flat();
  const parts = [`[gw json${lines ? ' lines' : ''}: (values) in the order of the # line`];
  if (columns.some((column) => column.kind === 'constant')) parts.push('key=value: in all');
  if (columns.some((column) => column.kind === 'prefix')) parts.push('key="x"+: all start with x');
  if (columns.some((column) => column.kind === 'derived' && column.source !== undefined))
    parts.push('a=b+"x": b, then x');
  if (columns.some((column) => column.kind === 'derived' && column.source === undefined))
    parts.push('a=<key>: the key before ()');
  if (writer.prefixes.length > 0) parts.push('"~1x": ~1 then x');
  if ([...writer.columns.keys()].some(hasGaps)) parts.push('empty: no such key');
  return `${parts.join('; ')}]`;
}

function hasGaps(shape: Shape): boolean {
  return shape.records.some((record) => record.keys.length < shape.keys.length);
}

function writeShape(shape: Shape, columns: readonly Column[], writer: Writer): string {
  const fields = columns.map((column, place) => {
    const key = shape.keys[place] ?? '';
    return (BARE_KEY.test(key) ? key.slice(1, -1) : key) + writeColumn(column, key, writer);
  });
  return `#${shape.id}(${fields.join(',')})`;
}

function writeColumn(column: Column, key: string, writer: Writer): string {
  switch (column.kind) {
    case 'plain':
      return '';
    case 'constant':
      return `=${writeString(column.value, key, writer)}`;
    case 'prefix':
      return `="${column.prefix}"+`;
    case 'derived':
      return `=${writeDerived(column)}`;
    case 'typed':
      return writeType(column.type);
  }
}

function writeDerived({ before, source, after }: Derived): string {
  const parts = [source === undefined ? '<key>' : source.slice(1, -1)];
  if (before !== '') parts.unshift(`"${before}"`);
  if (after !== '') parts.push(`"${after}"`);
  return parts.join('+');
}

function writeType({ container, shape }: ContainerType): string {
  if (container === 'record') return `#${shape.id}`;
  return container === 'list' ? `[#${shape.id}]` : `{#${shape.id}}`;
}

/** A value; `type` is what the head already says about its place. */
function writeValue(value: Json, type: ContainerType | undefined, writer: Writer, key = ''): string {
  if (typeof value === 'string') return writeString(value, key, writer);
  const own = typeOf(value, writer.shapeOf);
  const tag = own && !type ? `#${own.shape.id}` : '';
  const inner: ContainerType | undefined =
    own && own.container !== 'record' ? { container: 'record', shape: own.shape } : undefined;
  if (value instanceof JsonArray) {
    const items = value.items.map((item) => writeValue(item, inner, writer));
    return `${tag}[${joinRows(items, inner !== undefined)}]`;
  }
  if (own?.container === 'record') return tag + writeRecord(value, own.shape, writer);
  const entries = value.keys.map(
    (name, i) => `${name}:${writeValue(value.values[i] ?? 'null', inner, writer, name)}`,
  );
  return `${tag}{${joinRows(entries, inner !== undefined)}}`;
}

function joinRows(rows: readonly string[], records: boolean): string {
  return records && rows.length > ROWS_IN_LINE ? `\n${rows.join('\n')}\n` : rows.join(',');
}

function writeRecord(record: JsonObject, shape: Shape, writer: Writer): string {
  const cells: string[] = [];
  writer.columns.get(shape)?.forEach((column, place) => {
    if (column.kind === 'constant' || column.kind === 'derived') return;
    const value = cellOf(record, shape.keys, place);
    if (value === undefined) cells.push('');
    else if (column.kind === 'typed') cells.push(writeValue(value, column.type, writer));
    else if (column.kind === 'prefix') cells.push(`"${String(value).slice(1 + column.prefix.length)}`);
    else cells.push(writeValue(value, undefined, writer, shape.keys[place]));
  });
  return `(${cells.join(',')})`;
}

function writeString(text: string, key: string, writer: Writer): string {
  if (text[0] !== '"' || writer.prefixes.length === 0 || writer.keepKey(key)) return text;
  return abbreviate(text, writer.prefixes);
}
