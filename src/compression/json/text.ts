import type { Json } from './read.ts';

/** Figures and words that JSON would read as something else than text. */
const LOOKS_LIKE_JSON = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
/** Between commas and brackets such text can be told from all else; `#1` would be a tag. */
const BARE = /^(?!#\d)[^\s"()[\]{},][^"(),\n\r\\]*$/;

/** Text between commas that no closing bracket may stand in. */
const BARE_ITEM = /^(?!#\d)[^\s"()[\]{},][^"()[\]{},\n\r\\]*$/;
const BARE_KEY = /^"[A-Za-z_]\w*"$/;

/** A value of a record, as written, without the quotes that nothing needs; `isText`: text is all that is there. */
export function withoutQuotes(value: string, isText: boolean): string {
  if (value[0] !== '"') return value;
  const text = value.slice(1, -1);
  if (!BARE.test(text) || text.endsWith(' ')) return value;
  return isText || !LOOKS_LIKE_JSON.test(text) ? text : value;
}

/** A text of a list or an object, without the quotes that nothing needs. */
export function withoutItemQuotes(value: string): string {
  if (value[0] !== '"') return value;
  const text = value.slice(1, -1);
  return BARE_ITEM.test(text) && !text.endsWith(' ') && !LOOKS_LIKE_JSON.test(text) ? text : value;
}

/** A key, without its quotes where it is a plain name. */
export function withoutKeyQuotes(key: string): string {
  return BARE_KEY.test(key) ? key.slice(1, -1) : key;
}

/** Whether all values are strings and some look like numbers, so that the head must say that they are text. */
export function areTextNumbers(values: readonly Json[]): boolean {
  const isString = (value: Json) => typeof value === 'string' && value[0] === '"';
  if (!values.every(isString)) return false;
  return values.some((value) => typeof value === 'string' && LOOKS_LIKE_JSON.test(value.slice(1, -1)));
}
