import {
  type Column,
  type ContainerType,
  columnsOf,
  findShapes,
  type Shape,
  type Shapes,
  typeOf,
} from './columns.ts';
import { abbreviate, findPrefixes, type Prefixes } from './prefixes.ts';
import { type Json, JsonArray, type JsonObject } from './read.ts';

interface EncodeOptions {
  /** Whether the strings under a key stay whole, because the question names it. */
  keepKey?: (key: string) => boolean;
  /** The list was written as JSON lines: one item a line, without brackets. */
  lines?: boolean;
}

/** Lists with more rows than this have one row a line. */
const ROWS_IN_LINE = 3;

/**
 * Writes a JSON value as records: the keys of each shape once, then values by position. The head states what all
 * records share (constants, prefixes). Lossless but for the order of keys.
 */
export function encodeRecords(root: Json, options: EncodeOptions = {}): string {
  const { shapes, shapeOf } = findShapes(root);
  const keepKey = options.keepKey ?? (() => false);
  const columns = new Map(shapes.map((shape) => [shape, columnsOf(shape, shapeOf)]));
  const isWritten = (object: JsonObject, place: number) => {
    const shape = shapeOf.get(object);
    const key = object.keys[place] ?? '';
    const column = shape && columns.get(shape)?.[place];
    return !keepKey(key) && column?.kind !== 'constant';
  };
  const prefixes = findPrefixes(root, isWritten);
  const body = new RecordWriter({ shapeOf, columns, prefixes, keepKey }).value(root);
  return `${writeHead({ columns, prefixes, lines: options.lines === true })}\n${body}`;
}

interface Plan {
  shapeOf: Shapes;
  columns: Map<Shape, Column[]>;
  prefixes: Prefixes;
  keepKey: (key: string) => boolean;
}

class RecordWriter {
  readonly #plan: Plan;
  #depth = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Writes a value; `type` is what the head already states about it. */
  value(value: Json, type?: ContainerType, key = ''): string {
    if (typeof value === 'string') return this.#string(value, key);
    const own = typeOf(value, this.#plan.shapeOf);
    const tag = own && !type ? `#${own.shape.id}` : '';
    if (own && value instanceof JsonArray) return `${tag}[${this.#rows(value, own.shape)}]`;
    if (value instanceof JsonArray) return `[${value.items.map((item) => this.value(item)).join(',')}]`;
    if (own?.container === 'record') return `${tag}(${this.#cells(value, own.shape).join(',')})`;
    const entries = this.#entries(value, own && { container: 'record', shape: own.shape });
    const inLine = !own || this.#depth > 0 || entries.length <= ROWS_IN_LINE;
    return `${tag}{${inLine ? entries.join(',') : `\n${entries.join('\n')}\n`}}`;
  }

  /** The fields of an object that is written with its keys. */
  #entries(object: JsonObject, type: ContainerType | undefined): string[] {
    return object.keys.map((key, i) => `${key}:${this.value(object.values[i] ?? 'null', type, key)}`);
  }

  /** Rows of the outermost lists have a line each and need no brackets. */
  #rows(list: JsonArray, shape: Shape): string {
    const inLine = this.#depth > 0 || list.items.length <= ROWS_IN_LINE;
    const rows = list.items.map((row) => this.#cells(row as JsonObject, shape));
    if (inLine) return rows.map((cells) => `(${cells.join(',')})`).join(',');
    const isOpen = (rows[0]?.length ?? 0) > 1;
    return `\n${rows.map((cells) => (isOpen ? cells.join(',') : `(${cells.join(',')})`)).join('\n')}\n`;
  }

  #cells(record: JsonObject, shape: Shape): string[] {
    const cells: string[] = [];
    this.#depth++;
    this.#plan.columns.get(shape)?.forEach((column, place) => {
      if (column.kind === 'constant') return;
      cells.push(this.#cell(record.values[place] ?? 'null', column, shape.keys[place] ?? ''));
    });
    this.#depth--;
    return cells;
  }

  #cell(value: Json, column: Column, key: string): string {
    if (column.kind === 'typed') return this.value(value, column.type);
    if (typeof value !== 'string') return this.value(value);
    if (column.kind !== 'plain') return this.#string(value, key);
    return withoutQuotes(this.#string(value, key));
  }

  #string(text: string, key: string): string {
    const { prefixes, keepKey } = this.#plan;
    return text[0] !== '"' || prefixes.length === 0 || keepKey(key) ? text : abbreviate(text, prefixes);
  }
}

type Head = Pick<Plan, 'columns' | 'prefixes'> & Required<Pick<EncodeOptions, 'lines'>>;

/** A key that can be written without quotes. */
const BARE_KEY = /^"[A-Za-z_$@][A-Za-z0-9_ .$@/-]*"$/;

/** Writes what a reader of records needs first: legend, prefixes, and the columns of each shape. */
function writeHead(head: Head): string {
  const lines: string[] = [];
  for (const { sign, text } of head.prefixes) lines.push(`${sign}="${text}"`);
  for (const [shape, columns] of head.columns)
    lines.push(`#${shape.id}(${writeFields(shape.keys, columns)})`);
  return [legend(head), ...lines].join('\n');
}

function legend({ columns, prefixes, lines }: Head): string {
  const all = [...columns.values()].flat();
  const has = (holds: (column: Column) => boolean) => all.some(holds);
  const parts = [`[gw json${lines ? ' lines' : ''}: values in the order of #`];
  if (has((column) => column.kind === 'constant')) parts.push('key=value: in all');
  const [first] = prefixes;
  if (first) parts.push(`"${first.sign}x": ${first.sign} then x`);
  return `${parts.join('; ')}]`;
}

function writeFields(keys: readonly string[], columns: readonly Column[]): string {
  return columns.map((column, place) => writeKey(keys[place] ?? '') + writeColumn(column)).join(',');
}

const writeKey = (key: string): string => (BARE_KEY.test(key) ? key.slice(1, -1) : key);

function writeColumn(column: Column): string {
  switch (column.kind) {
    case 'plain':
      return '';
    case 'constant':
      return `=${column.value}`;
    case 'typed':
      return writeType(column.type);
  }
}

function writeType({ container, shape }: ContainerType): string {
  if (container === 'record') return `#${shape.id}`;
  return container === 'list' ? `[#${shape.id}]` : `{#${shape.id}}`;
}

/** Text that is another JSON value without its quotes. */
const LOOKS_LIKE_JSON = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
/** Text that is unambiguous between commas and brackets; `#1` would be a tag. */
const BARE = /^(?!#\d)[^\s"()[\]{},][^"(),\n\r\\]*$/;

/** A value of a record without needless quotes. */
function withoutQuotes(value: string): string {
  if (value[0] !== '"') return value;
  const text = value.slice(1, -1);
  return BARE.test(text) && !text.endsWith(' ') && !LOOKS_LIKE_JSON.test(text) ? text : value;
}
