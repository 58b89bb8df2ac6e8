import { type Json, JsonArray, JsonObject } from './read.ts';
import { cellOf, type Shape, type Shapes } from './shapes.ts';

/** A place whose strings are all made of another place's value: links are of their row's id or address. */
export interface Derived {
  kind: 'derived';
  before: string;
  /** The key whose value it is made of; undefined for the key that the record itself stands under. */
  source: string | undefined;
  after: string;
}

/** Keys under which records stand, where they are written. */
export type KeysOfRecords = ReadonlyMap<JsonObject, string>;

/** Shorter values are in other values by chance. */
const MIN_SOURCE = 3;
const MIN_GAIN = 4;
const MAX_TRIES = 8;
const PLAIN_KEY = /^"[A-Za-z_][A-Za-z0-9_-]*"$/;
const JSON_WORD = /^"(?:true|false|null)"$/;

/** How a place of all records follows from one before it, if it does. */
export function derive(shape: Shape, place: number, keys: KeysOfRecords): Derived | undefined {
  const [first] = shape.records;
  const value = first && textOf(cellOf(first, shape.keys, place));
  if (!first || value === undefined || value.length < MIN_SOURCE || /[\\"]/.test(value)) return undefined;
  const own = shape.records.every((record) => keys.get(record) === cellOf(record, shape.keys, place));
  if (own) return { kind: 'derived', before: '', source: undefined, after: '' };
  const isSame = shape.records.every((record) => cellOf(record, shape.keys, place) === `"${value}"`);
  for (const { key, source, from } of sourcesOf(first, value, shape.keys.slice(0, place))) {
    // A value that is the same in all is said once as it is.
    if (isSame && source.length < key.length + MIN_GAIN) continue;
    const at = value.indexOf(source);
    const before = value.slice(0, at);
    const after = value.slice(at + source.length);
    const all = shape.records.every((record) => {
      const other = inner(cellOf(record, shape.keys, from));
      return other !== undefined && textOf(cellOf(record, shape.keys, place)) === before + other + after;
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

/** The values of a record that a later one holds, the longest first. */
function sourcesOf(record: JsonObject, value: string, keys: readonly string[]): Source[] {
  const sources: Source[] = [];
  keys.forEach((key, from) => {
    const source = inner(cellOf(record, keys, from)) ?? '';
    if (source.length < MIN_SOURCE) return;
    if (value.includes(source) && PLAIN_KEY.test(key) && !JSON_WORD.test(key))
      sources.push({ key, source, from });
  });
  return sources.sort((a, b) => b.source.length - a.source.length || a.from - b.from).slice(0, MAX_TRIES);
}

/** The text in a string's quotes. */
function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value[0] === '"' ? value.slice(1, -1) : undefined;
}

/** What a string or number may be part of. */
function inner(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? (textOf(value) ?? value) : undefined;
}

/** The keys of objects in objects that are written with their keys. */
export function keysOfRecords(root: Json, shapeOf: Shapes): KeysOfRecords {
  const keys = new Map<JsonObject, string>();
  const walk = (value: Json): void => {
    if (typeof value === 'string') return;
    if (value instanceof JsonArray) {
      for (const item of value.items) walk(item);
      return;
    }
    const isRecord = shapeOf.has(value);
    value.values.forEach((child, i) => {
      if (!isRecord && child instanceof JsonObject) keys.set(child, value.keys[i] ?? '');
      walk(child);
    });
  };
  walk(root);
  return keys;
}
