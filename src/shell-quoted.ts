/** A text in a POSIX shell's single quotes: `it's` as `'it'\''s'`. */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text as one word of a shell's command, in quotes only where it needs them. */
export function shellQuoted(text: string): string {
  return /^[\w./@%+:,-]+$/.test(text) ? text : singleQuoted(text);
}
