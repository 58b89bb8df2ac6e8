import type { ReactNode } from 'preact/compat';

export interface Column<Row> {
  head: string;
  cell(row: Row): ReactNode;
  /** Numbers are aligned to the right. */
  isNumber?: boolean;
  /** Left out where there is little room. */
  isExtra?: boolean;
}

/** The column in which an admin changes rows; none for others. */
export const changes = <Row,>(isAdmin: boolean, cell: (row: Row) => ReactNode): Column<Row>[] =>
  isAdmin ? [{ head: 'change', isNumber: true, cell }] : [];

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  total?: Row | undefined;
}

/** A table with its numbers aligned. Wider than the window, it scrolls by itself. */
export function Table<Row>({ caption, columns, rows, keyOf, total }: TableProps<Row>) {
  const className = ({ isNumber, isExtra }: Column<Row>) =>
    [isNumber ? 'number' : '', isExtra ? 'extra' : ''].filter(Boolean).join(' ');
  const cells = (row: Row) =>
    columns.map((column) => (
      <td key={column.head} className={className(column)}>
        {column.cell(row)}
      </td>
    ));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <div className="scroll" tabIndex={0}>
      <table>
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" className={className(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>{cells(row)}</tr>
          ))}
        </tbody>
        {total === undefined ? null : (
          <tfoot>
            <tr>{cells(total)}</tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}
