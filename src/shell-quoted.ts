/** Quotes a text for a POSIX shell with single quotes: `it's` becomes `'it'\''s'`. */
export const singleQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A text as one word of a shell command, quoted only if necessary. */
export const shellQuoted = (text: string): string =>
  /^[\w./@%+:,-]+$/.test(text) ? text : singleQuoted(text);
