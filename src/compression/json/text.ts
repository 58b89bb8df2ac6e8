/** Text that is another JSON value without its quotes. */
const LOOKS_LIKE_JSON = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;
/** Text that is unambiguous between commas and brackets; `#1` would be a tag. */
const BARE = /^(?!#\d)[^\s"()[\]{},][^"(),\n\r\\]*$/;

/** A value of a record without needless quotes. */
export function withoutQuotes(value: string): string {
  if (value[0] !== '"') return value;
  const text = value.slice(1, -1);
  return BARE.test(text) && !text.endsWith(' ') && !LOOKS_LIKE_JSON.test(text) ? text : value;
}
