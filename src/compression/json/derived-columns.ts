import { type Json, JsonArray, JsonObject } from './read.ts';
import type { Shape, Shapes } from './shapes.ts';

/** A field whose strings all contain another field's value, as links contain their row's id or address. */
export interface Derived {
  kind: 'derived';
  before: string;
  /** The key of the other field; undefined for the key of the record itself. */
  source: string | undefined;
  after: string;
}

/** The keys of records in objects that are written with their keys. */
export type KeysOfRecords = ReadonlyMap<JsonObject, string>;

/** Shorter values are contained in others by coincidence. */
const MIN_SOURCE = 3;
const MIN_GAIN = 4;
const MAX_TRIES = 8;
const PLAIN_KEY = /^"[A-Za-z_][A-Za-z0-9_-]*"$/;
const JSON_WORD = /^"(?:true|false|null)"$/;

/** How a field can be derived from an earlier one in all records, if it can. */
export function derive(shape: Shape, place: number, keys: KeysOfRecords): Derived | undefined {
  const [first] = shape.records;
  const value = first && textOf(first.values[place]);
  if (!first || value === undefined || value.length < MIN_SOURCE || /[\\"]/.test(value)) return undefined;
  const own = shape.records.every((record) => keys.get(record) === record.values[place]);
  if (own) return { kind: 'derived', before: '', source: undefined, after: '' };
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

/** Finds the key of each object in an object that is written with its keys. */
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
