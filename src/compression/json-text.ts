import type { Json } from './json-read.ts';

/** Figures and words that JSON would read as something else than text. */
const LOOKS_LIKE_JSON = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
/** Between commas and brackets such text can be told from all else; `#1` would be a tag. */
const BARE = /^(?!#\d)[^\s"()[\]{},][^"(),\n\r\\]*$/;

/** A value of a record, as written, without the quotes that nothing needs; `isText`: text is all that is there. */
export function withoutQuotes(value: string, isText: boolean): string {
  if (value[0] !== '"') return value;
  const text = value.slice(1, -1);
  if (!BARE.test(text) || text.endsWith(' ')) return value;
  return isText || !LOOKS_LIKE_JSON.test(text) ? text : value;
}

/** A value that stood without quotes: `isText` where it is text even if it looks like a number. */
export function readBare(text: string, isText: boolean): string {
  return isText || !LOOKS_LIKE_JSON.test(text) ? `"${text}"` : text;
}

/** Whether all values are strings and some look like numbers, so that the head must say that they are text. */
export function areTextNumbers(values: readonly Json[]): boolean {
  const isString = (value: Json) => typeof value === 'string' && value[0] === '"';
  if (!values.every(isString)) return false;
  return values.some((value) => typeof value === 'string' && LOOKS_LIKE_JSON.test(value.slice(1, -1)));
}
