/** Quotes a text for a POSIX shell with single quotes: `it's` becomes `'it'\''s'`. */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text as one word of a shell command, quoted only if necessary. */
export function shellQuoted(text: string): string {
  return /^[\w./@%+:,-]+$/.test(text) ? text : singleQuoted(text);
}
