const JSON_LITERAL = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)$/;

/** The JSON value of text without quotes. */
export function readBare(text: string): string {
  return JSON_LITERAL.test(text) ? text : `"${text}"`;
}
