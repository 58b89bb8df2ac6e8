import type { Style } from './palette.ts';
import type { Terminal } from './terminal.ts';
import { clean, pad, shortenMiddle, widthOf, wrap } from './text.ts';

export interface Column<Row> {
  header: string;
  /** Text of a cell. `width` is the width of a column with `fills`, 0 for others. */
  value(row: Row, width: number): string;
  align?: 'left' | 'right';
  /** Whether the column's texts lose their middle if the table is wider than the terminal. */
  shrinks?: boolean;
  /** Whether the column is dropped, the last one first, if shrinking the others is not enough. */
  optional?: boolean;
  /** Gives the column the remaining width, up to this many cells. Dropped if that is less than MIN_FILLED. */
  fills?: number;
  /** For the last column: its texts are never cut, and go on in lines of their own. */
  wraps?: boolean;
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
/** Cells that names keep before optional columns are dropped, if they have as many. */
const MIN_LEGIBLE = 12;
const MIN_FILLED = 4;
/** Cells that a column with `wraps` needs beside the others; with less it stands below them. */
const MIN_BESIDE = 20;
const BELOW = 4;

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
  const sizedColumns = layOut(all, columns, terminal);
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
    const last = columns.at(-1);
    if (last?.wraps) lines.push(...restOf(last.value(row, 0), sizedColumns, terminal));
  });
  return lines;
}

/** What the last column's text has no room for in its row. */
function restOf<Row>(text: string, sizedColumns: SizedColumn<Row>[], { textColumns }: Terminal): string[] {
  const last = sizedColumns.at(-1);
  const isBeside = last?.column.wraps === true;
  const indent = isBeside ? widthOfAll(sizedColumns) - last.width : BELOW;
  const rest = isBeside ? wrap(text, last.width).slice(1) : wrap(text, textColumns - BELOW);
  return rest.filter((line) => line !== '').map((line) => ' '.repeat(indent) + line);
}

function layOut<Row>(
  rows: Row[],
  columns: Column<Row>[],
  { columns: limit, textColumns }: Terminal,
): SizedColumn<Row>[] {
  const measured = columns
    .filter(({ fills, wraps }) => fills === undefined && !wraps)
    .map((column) => measure(rows, column));
  const fixed = shrink(measured, textColumns);
  const left = limit - widthOfAll(fixed) - GAP;
  return columns.flatMap((column) => {
    if (column.wraps) return besides(measure(rows, column), textColumns - widthOfAll(fixed) - GAP);
    if (column.fills === undefined) return fixed.filter((sized) => sized.column === column);
    if (left < MIN_FILLED) return [];
    const width = Math.min(left, column.fills);
    return [{ column, width, texts: rows.map((row) => clean(column.value(row, width))) }];
  });
}

/** A column with `wraps` in the cells that are left, with the first line of each text; none if it goes below. */
function besides<Row>({ column, width, texts }: SizedColumn<Row>, left: number): SizedColumn<Row>[] {
  if (width > left && left < MIN_BESIDE) return [];
  const room = Math.min(width, left);
  return [{ column, width: room, texts: texts.map((text) => wrap(text, room)[0] ?? '') }];
}

function measure<Row>(rows: Row[], column: Column<Row>): SizedColumn<Row> {
  const texts = rows.map((row) => clean(column.value(row, 0)));
  const width = texts.reduce((most, text) => Math.max(most, widthOf(text)), widthOf(column.header));
  return { column, width, texts };
}

/** Columns within the limit, if they can be: the widest that shrink are cut, optional ones dropped, and the widest cut again. */
function shrink<Row>(sizedColumns: SizedColumn<Row>[], limit: number): SizedColumn<Row>[] {
  const widths = sizedColumns.map(({ column, width }) =>
    column.shrinks ? Math.min(width, MIN_LEGIBLE) : width,
  );
  const spare = limit - widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1));
  const dropped = spare < 0 ? sizedColumns.findLastIndex(({ column }) => column.optional) : -1;
  if (dropped >= 0) return shrink(sizedColumns.toSpliced(dropped, 1), limit);
  for (let excess = widthOfAll(sizedColumns) - limit; excess > 0; excess--) {
    const widest = sizedColumns.reduce<SizedColumn<Row> | undefined>(
      (most, each) => (each.column.shrinks && each.width > (most?.width ?? MIN_SHRUNK) ? each : most),
      undefined,
    );
    if (!widest) break;
    widest.width--;
  }
  return sizedColumns;
}

function widthOfAll<Row>(sizedColumns: SizedColumn<Row>[]): number {
  return sizedColumns.reduce((sum, { width }) => sum + width, GAP * (sizedColumns.length - 1));
}

function cell<Row>(text: string, { column, width }: SizedColumn<Row>, terminal: Terminal): string {
  return pad(shortenMiddle(text, width, terminal.symbols.ellipsis), width, column.align);
}

const joinCells = (cells: string[]): string => cells.join(' '.repeat(GAP)).trimEnd();
