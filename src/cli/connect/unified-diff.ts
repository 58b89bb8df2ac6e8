import { structuredPatch } from 'diff';
import { type Palette, plain } from '../../terminal/palette.ts';

interface DiffOptions {
  palette: Palette;
  /** Text to show for a line. */
  show?: (line: string) => string;
}

/** The lines of a unified diff of two texts, without the headers of files. Empty for equal texts. */
export function unifiedDiff(
  before: string,
  after: string,
  { palette: { accent, bad, dim }, show = plain }: DiffOptions,
): string[] {
  const paint: Record<string, (text: string) => string> = { '+': accent, '-': bad };
  const { hunks } = structuredPatch('', '', linesOf(before), linesOf(after), '', '', { context: 3 });
  return hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    dim(`@@ -${from(oldStart, oldLines)} +${from(newStart, newLines)} @@`),
    ...lines.map((line) => (paint[line[0] ?? ''] ?? plain)(line.slice(0, 1) + show(line.slice(1)))),
  ]);
}

/** An empty range is named by the line before it. */
const from = (start: number, count: number): string => `${count === 0 ? start - 1 : start},${count}`;

/** With the same line endings in both: a diff for people need not tell them apart. */
function linesOf(text: string): string {
  return text
    .replace(/^\ufeff/, '')
    .replace(/\r?\n/g, '\n')
    .replace(/(?<=[^\n])$/, '\n');
}
