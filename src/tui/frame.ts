import { pad } from '../terminal/text.ts';

/** Lines of a frame, and the cell at which they begin. */
export interface Block {
  x: number;
  y: number;
  lines: readonly string[];
}

const toColumn = (x: number) => `\u001b[0m\u001b[${x + 1}G`;

/**
 * The rows of a terminal. Each block begins at its own column, so a character that the terminal draws wider than gw
 * expects moves nothing beside it.
 */
export function screenRows(blocks: readonly Block[]): string[] {
  return joined(blocks, (row, x) => row + toColumn(x));
}

/** The rows as plain text. */
export function textRows(blocks: readonly Block[]): string[] {
  return joined(blocks, (row, x) => pad(row, x)).map((row) => row.trimEnd());
}

function joined(blocks: readonly Block[], moveTo: (row: string, x: number) => string): string[] {
  const rows: string[] = [];
  for (const { x, y, lines } of blocks) {
    lines.forEach((line, i) => {
      while (rows.length <= y + i) rows.push('');
      const row = rows[y + i] ?? '';
      if (line !== '') rows[y + i] = (x === 0 ? row : moveTo(row, x)) + line;
    });
  }
  return rows;
}
