import type { Json } from './read.ts';

/** Text that is another JSON value without its quotes. */
const LOOKS_LIKE_JSON = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
/** Text that is unambiguous between commas and brackets; `#1` would be a tag. */
const BARE = /^(?!#\d)[^\s"()[\]{},][^"(),\n\r\\]*$/;

/** A value of a record without needless quotes; `isText`: all values of its column are strings. */
export function withoutQuotes(value: string, isText: boolean): string {
  if (value[0] !== '"') return value;
  const text = value.slice(1, -1);
  if (!BARE.test(text) || text.endsWith(' ')) return value;
  return isText || !LOOKS_LIKE_JSON.test(text) ? text : value;
}

/** Whether all values are strings and some look like numbers, which the head must state. */
export function areTextNumbers(values: readonly Json[]): boolean {
  const isString = (value: Json) => typeof value === 'string' && value[0] === '"';
  if (!values.every(isString)) return false;
  return values.some((value) => typeof value === 'string' && LOOKS_LIKE_JSON.test(value.slice(1, -1)));
}
