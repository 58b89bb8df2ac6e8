/** Replacement of a range, in UTF-16 units. */
export interface Splice {
  start: number;
  end: number;
  text: string;
}

/** Applies splices. They must not overlap. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let result = text;
  for (const { start, end, text: inserted } of [...splices].sort((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + inserted + result.slice(end);
  }
  return result;
}

/** The line ending of a text. */
export const eolOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');

export const lineStart = (text: string, position: number): number => text.lastIndexOf('\n', position - 1) + 1;

/** End of the line that contains `position`, before its line ending. */
export function lineEnd(text: string, position: number): number {
  const newline = text.indexOf('\n', position);
  if (newline < 0) return text.length;
  return newline > position && text[newline - 1] === '\r' ? newline - 1 : newline;
}

/** Start of the line after the one that contains `position`. */
function nextLine(text: string, position: number): number {
  const newline = text.indexOf('\n', position);
  return newline < 0 ? text.length : newline + 1;
}

/** Leading white space of the line that contains `position`. */
export function indentAt(text: string, position: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, position), position))?.[0] ?? '';
}

/** Whether `position` is preceded only by white space in its line. */
export function isFirstInLine(text: string, position: number): boolean {
  return /^[ \t]*$/.test(text.slice(lineStart(text, position), position));
}

/** Whether `position` is followed only by white space in its line. */
export function isLastInLine(text: string, position: number): boolean {
  return /^[ \t]*$/.test(text.slice(position, lineEnd(text, position)));
}

/** Splice that removes the lines of a range. The last line of a text is removed with the line ending before it. */
export function lineRemoval(text: string, start: number, end: number): Splice {
  const from = lineStart(text, start);
  const to = nextLine(text, end);
  if (to < text.length || text.endsWith('\n')) return { start: from, end: to, text: '' };
  return { start: Math.max(0, from - (text[from - 2] === '\r' ? 2 : 1)), end: to, text: '' };
}

/** Indents all lines except the first. */
export function indented(source: string, indent: string, eol: string): string {
  return source.split('\n').join(eol + indent);
}
