/** The lines from `from` up to `end` as they stand in their text, with the line end after the last where it has one. */
export function joinLines(lines: readonly string[], from: number, end: number): string {
  const text = lines.slice(from, end).join('\n');
  return end < lines.length ? `${text}\n` : text;
}
