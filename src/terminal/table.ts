import type { Style } from './palette.ts';
import type { Terminal } from './terminal.ts';
import { clean, pad, shorten, widthOf } from './text.ts';

export interface Column<Row> {
  header: string;
  /** Text of a cell. `width` is the width of a column with `fills`, 0 for others. */
  value(row: Row, width: number): string;
  align?: 'left' | 'right';
  /** Whether the column may be cut if the table is wider than the terminal. */
  shrinks?: boolean;
  /** Gives the column the remaining width, up to this many cells. Dropped if that is less than MIN_FILLED. */
  fills?: number;
  style?: Style | ((text: string, row: Row) => string);
}

/** A right-aligned column, such as one of numbers. */
export function right<Row>(header: string, value: (row: Row) => string): Column<Row> {
  return { header, value, align: 'right' };
}

interface TableOptions<Row> {
  terminal: Terminal;
  /** The last row, below a rule. */
  total?: Row;
}

const GAP = 2;
const MIN_SHRUNK = 8;
const MIN_FILLED = 4;

interface SizedColumn<Row> {
  column: Column<Row>;
  width: number;
  texts: string[];
}

/** Formats a table as lines, at most as wide as the terminal. Removes control characters from values. */
export function table<Row>(
  rows: Row[],
  columns: Column<Row>[],
  { terminal, total }: TableOptions<Row>,
): string[] {
  const all = total === undefined ? rows : [...rows, total];
  const sizedColumns = layOut(all, columns, terminal.columns);
  const { dim } = terminal.palette;
  const lines = [dim(joinCells(sizedColumns.map((sized) => cell(sized.column.header, sized, terminal))))];
  all.forEach((row, i) => {
    if (total !== undefined && i === rows.length)
      lines.push(dim(terminal.symbols.rule.repeat(widthOfAll(sizedColumns))));
    const cells = sizedColumns.map((sized) => {
      const text = cell(sized.texts[i] ?? '', sized, terminal);
      const { style } = sized.column;
      if (typeof style === 'string') return terminal.palette[style](text);
      return style ? style(text, row) : text;
    });
    lines.push(joinCells(cells));
  });
  return lines;
}

function layOut<Row>(rows: Row[], columns: Column<Row>[], limit: number): SizedColumn<Row>[] {
  const fixed = columns.filter(({ fills }) => fills === undefined).map((column) => measure(rows, column));
  shrink(fixed, limit);
  const left = limit - widthOfAll(fixed) - GAP;
  return columns.flatMap((column) => {
    if (column.fills === undefined) return fixed.filter((sized) => sized.column === column);
    if (left < MIN_FILLED) return [];
    const width = Math.min(left, column.fills);
    return [{ column, width, texts: rows.map((row) => clean(column.value(row, width))) }];
  });
}

function measure<Row>(rows: Row[], column: Column<Row>): SizedColumn<Row> {
  const texts = rows.map((row) => clean(column.value(row, 0)));
  const width = texts.reduce((most, text) => Math.max(most, widthOf(text)), widthOf(column.header));
  return { column, width, texts };
}

function shrink<Row>(sizedColumns: SizedColumn<Row>[], limit: number): void {
  let excess = widthOfAll(sizedColumns) - limit;
  for (const sized of sizedColumns) {
    if (excess <= 0 || !sized.column.shrinks) continue;
    const cut = Math.min(excess, Math.max(0, sized.width - MIN_SHRUNK));
    sized.width -= cut;
    excess -= cut;
  }
}

function widthOfAll<Row>(sizedColumns: SizedColumn<Row>[]): number {
  return sizedColumns.reduce((sum, { width }) => sum + width, GAP * (sizedColumns.length - 1));
}

function cell<Row>(text: string, { column, width }: SizedColumn<Row>, terminal: Terminal): string {
  return pad(shorten(text, width, terminal.symbols.ellipsis), width, column.align);
}

function joinCells(cells: string[]): string {
  return cells.join(' '.repeat(GAP)).trimEnd();
}
