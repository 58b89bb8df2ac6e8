import { type Json, JsonArray } from '../../src/compression/json/read.ts';

/** A JSON value as text that is equal for equal values: numbers as written, keys in order of the alphabet. */
export function canonical(value: Json): string {
  if (typeof value === 'string') return value;
  if (value instanceof JsonArray) return `[${value.items.map(canonical).join(',')}]`;
  const fields = value.keys.map((key, i) => `${key}:${canonical(value.values[i] ?? 'null')}`);
  return `{${fields.sort().join(',')}}`;
}

/** Runs of blanks as one: what an encoded log keeps of them. */
export function withoutPadding(text: string): string {
  return text.replace(/[ \t]+/g, ' ');
}
