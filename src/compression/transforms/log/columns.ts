import { type LogLine, mergeLines, type Template } from './templates.ts';

const MAX_COLUMNS = 9;

/**
 * How many leading words are columns of the log (time, host, process, ...): in nearly every line they contain digits
 * or are the same.
 */
export function countColumns(lines: readonly LogLine[]): number {
  const filled = lines.filter((line) => line.words.length > 0);
  for (let column = 0; column < MAX_COLUMNS; column++) {
    const counts = new Map<string, number>();
    let figures = 0;
    for (const line of filled) {
      const word = line.words[column];
      if (word === undefined) continue;
      if (/\d/.test(word)) figures++;
      else counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    if (figures + Math.max(0, ...counts.values()) < filled.length * 0.85) return column;
  }
  return MAX_COLUMNS;
}

/** Splits a line into its columns and the rest as one word. */
export function splitColumns(line: LogLine, columns: number): LogLine | undefined {
  if (line.words.length <= columns) return undefined;
  let at = 0;
  for (let i = 0; i <= columns; i++)
    at = line.text.indexOf(line.words[i] ?? '', at) + (i < columns ? (line.words[i]?.length ?? 0) : 0);
  return {
    text: line.text,
    words: [...line.words.slice(0, columns), line.text.slice(at)],
    gaps: [...line.gaps.slice(0, columns + 1), ''],
  };
}

/** A template for lines without a pattern: the most common outline of their columns, then an open end. */
export function columnTemplate(lines: readonly LogLine[]): Template | undefined {
  const byOutline = new Map<string, LogLine[]>();
  for (const line of lines) {
    const outline = line.gaps.join('\n');
    const list = byOutline.get(outline);
    if (list) list.push(line);
    else byOutline.set(outline, [line]);
  }
  const [most = []] = [...byOutline.values()].sort((a, b) => b.length - a.length);
  const template = mergeLines(most);
  if (!template || template.count < 3) return undefined;
  template.words[template.words.length - 1] = null;
  return template;
}
