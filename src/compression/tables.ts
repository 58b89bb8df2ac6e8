import { fencedLines } from './fences.ts';

const ROW = /^ {0,3}\|.*\|[ \t]*$/;
const DELIMITER = /^ {0,3}\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$/;
/** A bar that is no text of a cell. */
const BAR = /(?<!\\)\|/;

/** Markdown tables without the blanks and dashes that line their columns up: rendered, they are the same. */
export function unpadTables(text: string): string {
  if (!text.includes('|')) return text;
  const lines = text.split('\n');
  const fenced = fencedLines(lines);
  let inTable = false;
  const out = lines.map((line, at) => {
    inTable = !fenced[at] && ROW.test(line) && (inTable || DELIMITER.test(lines[at + 1] ?? ''));
    return inTable ? unpadRow(line) : line;
  });
  return out.join('\n');
}

function unpadRow(row: string): string {
  const isDelimiter = DELIMITER.test(row);
  return row
    .split(BAR)
    .map(isDelimiter ? shortenDashes : unpad)
    .join('|')
    .trim();
}

function shortenDashes(cell: string): string {
  return cell.trim().replace(/-{3,}/, '---');
}

/** At most one blank on each side. */
function unpad(cell: string): string {
  const text = cell.trim();
  if (text === '') return cell.slice(0, 1);
  return (/^[ \t]/.test(cell) ? ' ' : '') + text + (/[ \t]$/.test(cell) ? ' ' : '');
}
