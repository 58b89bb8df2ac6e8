const JSON_LITERAL = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;

/** The JSON value of text without quotes; `isText`: it is a string even if it looks like a number. */
export function readBare(text: string, isText: boolean): string {
  return isText || !JSON_LITERAL.test(text) ? `"${text}"` : text;
}
