/** A text as one word of a shell's command: `it's` as `'it'\''s'`. */
export function shellQuoted(text: string): string {
  return /^[\w./@%+:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
