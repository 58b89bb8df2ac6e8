import type { Terminal } from './terminal.ts';
import { clean, pad, shorten, widthOf } from './text.ts';

export interface Column<Row> {
  header: string;
  /** The cell's text, given the width that is left for the column (of use to bars alone). */
  value(row: Row, width: number): string;
  align?: 'left' | 'right';
  /** Is cut where the table is wider than the terminal. */
  shrinks?: boolean;
  /** Takes what the other columns leave, up to this many cells; left out where that is too little. */
  fills?: number;
  style?(text: string, row: Row): string;
}

export interface TableOptions<Row> {
  terminal: Terminal;
  /** A last row, set off by a rule. */
  total?: Row;
}

const GAP = 2;
const MIN_SHRUNK = 8;
const MIN_FILLED = 4;

interface Laid<Row> {
  column: Column<Row>;
  width: number;
  texts: string[];
}

/** A table as lines, at most as wide as the terminal; control characters in values are dropped. */
export function table<Row>(
  rows: Row[],
  columns: Column<Row>[],
  { terminal, total }: TableOptions<Row>,
): string[] {
  const all = total === undefined ? rows : [...rows, total];
  const laid = layOut(all, columns, terminal.columns);
  const { dim } = terminal.palette;
  const lines = [dim(joinCells(laid.map((l) => cell(l.column.header, l, terminal))))];
  all.forEach((row, i) => {
    if (total !== undefined && i === rows.length)
      lines.push(dim(terminal.symbols.rule.repeat(widthOfAll(laid))));
    const cells = laid.map((l) => {
      const text = cell(l.texts[i] ?? '', l, terminal);
      return l.column.style ? l.column.style(text, row) : text;
    });
    lines.push(joinCells(cells));
  });
  return lines;
}

function layOut<Row>(rows: Row[], columns: Column<Row>[], limit: number): Laid<Row>[] {
  const fixed = columns.filter(({ fills }) => fills === undefined).map((column) => measure(rows, column));
  shrink(fixed, limit);
  const left = limit - widthOfAll(fixed) - GAP;
  return columns.flatMap((column) => {
    if (column.fills === undefined) return fixed.filter((l) => l.column === column);
    if (left < MIN_FILLED) return [];
    const width = Math.min(left, column.fills);
    return [{ column, width, texts: rows.map((row) => clean(column.value(row, width))) }];
  });
}

function measure<Row>(rows: Row[], column: Column<Row>): Laid<Row> {
  const texts = rows.map((row) => clean(column.value(row, 0)));
  const width = texts.reduce((most, text) => Math.max(most, widthOf(text)), widthOf(column.header));
  return { column, width, texts };
}

function shrink<Row>(laid: Laid<Row>[], limit: number): void {
  let excess = widthOfAll(laid) - limit;
  for (const l of laid) {
    if (excess <= 0 || !l.column.shrinks) continue;
    const cut = Math.min(excess, Math.max(0, l.width - MIN_SHRUNK));
    l.width -= cut;
    excess -= cut;
  }
}

function widthOfAll<Row>(laid: Laid<Row>[]): number {
  return laid.reduce((sum, { width }) => sum + width, GAP * (laid.length - 1));
}

function cell<Row>(text: string, { column, width }: Laid<Row>, terminal: Terminal): string {
  return pad(shorten(text, width, terminal.symbols.ellipsis), width, column.align);
}

function joinCells(cells: string[]): string {
  return cells.join(' '.repeat(GAP)).trimEnd();
}
