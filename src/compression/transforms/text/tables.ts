import { fencedLines } from '../../blocks/fences.ts';

const ROW = /^ {0,3}\|.*\|[ \t]*$/;
const DELIMITER = /^ {0,3}\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$/;
/** A bar that is no text of a cell. */
const BAR = /(?<!\\)\|/;
const OTHER_BLANK = /[^\S \t]/;

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
  // The blanks before a row say which item of a list it belongs to.
  const [indent = '', ...cells] = row.slice(0, row.lastIndexOf('|')).split(BAR);
  const shorten = DELIMITER.test(row) ? shortenDashes : unpad;
  return `${[indent, ...cells.map(shorten)].join('|')}|`;
}

function shortenDashes(cell: string): string {
  return cell.trim().replace(/-{3,}/, '---');
}

/** At most one blank on each side. */
function unpad(cell: string): string {
  // A no-break space is shown.
  if (OTHER_BLANK.test(cell)) return cell;
  const text = cell.trim();
  if (text === '') return cell.slice(0, 1);
  return (/^[ \t]/.test(cell) ? ' ' : '') + text + (/[ \t]$/.test(cell) ? ' ' : '');
}
