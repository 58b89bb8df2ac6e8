/** Joins the lines from `from` up to `end`, with the final newline unless the text ends there. */
export function joinLines(lines: readonly string[], from: number, end: number): string {
  const text = lines.slice(from, end).join('\n');
  return end < lines.length ? `${text}\n` : text;
}
