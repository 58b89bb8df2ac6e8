import type { Scope } from '../scope.ts';

/** Sequences that neither move the cursor nor erase: colours, titles, links, modes of keys and of the cursor's look. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
  /\u001b(?:\[[0-9;:]*m|\[\?(?:1|7|12|25|1000|1004|2004|2026)[hl]|\[[0-9;?>]*[cnqt]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()]B|[=>])/g;
/** Moves and erasures within a line: ESC[K, and the columns of ESC[C, ESC[D and ESC[G. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const IN_LINE = /\u001b\[\d{0,4}[CDGK]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const MOVE_OR_CHARACTER = /\u001b\[(\d{0,4})([CDGK])|[^\u001b]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: printed only to terminals
const SIGNS = /[\u001b\b]|\r(?!\n|$)/;
/** A rule of symbols and spaces in turn, such as `- - -`; each symbol is a token. */
const DOTTED_RULE = /^([-_=*~.#+])(?: \1){9,} ?$/gm;
const MANY_BLANK_LINES = /\n{4,}/g;

/** Reduces output to what a terminal shows: drops colours, overwritten progress bars and padding. */
export function cleanTerminal(text: string, scope: Scope): string {
  // A user's paste may be an indented list; only control characters prove that it is terminal output.
  if (!scope.fromTool && !SIGNS.test(text)) return text.replace(DOTTED_RULE, '$1 $1 $1');
  const out = text.includes('\u001b') ? text.replace(INVISIBLE, '') : text;
  // What moves across lines can paint over any of them, padding and rules included.
  if (out.includes('\u001b') && out.replace(IN_LINE, '').includes('\u001b')) return out;
  return out
    .replace(DOTTED_RULE, '$1 $1 $1')
    .split('\n')
    .map((line) => withoutPadding(painted(line)))
    .join('\n')
    .replace(MANY_BLANK_LINES, '\n\n\n');
}

/** Characters that fill one cell of a terminal, with the blocks and spinners of progress bars. */
const ONE_CELL =
  /^[\u0020-\u007e\u00a0-\u00ac\u00ae-\u02ff\u0370-\u0377\u0384-\u0482\u048a-\u052f\u2010-\u2027\u2190-\u2199\u2500-\u25fc\u2800-\u28ff\b\r]*$/;

/**
 * A line as a terminal shows it after its backspaces, carriage returns and moves: these erase nothing but with ESC[K,
 * and what is written next paints over what was there. A line with other characters than ONE_CELL stays as it is, and
 * so does one with carriage returns that may end lines.
 */
function painted(line: string): string {
  const end = line.endsWith('\r') ? '\r' : '';
  const body = end === '' ? line : line.slice(0, -1);
  if (!SIGNS.test(body) && !body.endsWith('\r')) return line;
  if (!ONE_CELL.test(body.replace(IN_LINE, ''))) return line;
  const moves = body.includes('\u001b') || body.includes('\b');
  if (!moves && !isRepainted(body)) return line;
  const cells: string[] = [];
  let cursor = 0;
  for (const [piece, count, letter] of body.matchAll(MOVE_OR_CHARACTER)) {
    const steps = Math.max(1, Number(count));
    // Moves far to the right would make the text longer.
    if (cursor > body.length) return line;
    if (piece === '\r') cursor = 0;
    else if (piece === '\b') cursor = Math.max(0, cursor - 1);
    else if (letter === 'C') cursor += steps;
    else if (letter === 'D') cursor = Math.max(0, cursor - steps);
    else if (letter === 'G') cursor = steps - 1;
    else if (letter === 'K') erase(cells, cursor, Number(count));
    else cells[cursor++] = piece;
  }
  return cells.length > body.length ? line : Array.from(cells, (cell) => cell ?? ' ').join('') + end;
}

/** ESC[K: to the end of the line (0), from its beginning (1), or all of it (2). */
function erase(cells: string[], cursor: number, part: number): void {
  if (part === 0) cells.splice(cursor);
  else if (part === 1) cells.fill(' ', 0, cursor + 1);
  else if (part === 2) cells.fill(' ');
}

/**
 * Whether a program painted a line several times with carriage returns, such as a progress bar. Otherwise they may end
 * lines, which have different texts; numbers alone may be rows of a file.
 */
function isRepainted(line: string): boolean {
  const paints = line.split('\r').filter((paint) => paint !== '');
  const outline = outlineOf(paints[0] ?? '');
  return (
    paints.length > 1 &&
    paints.every((paint) => outlineOf(paint) === outline && (outline !== '' || paint.includes('%')))
  );
}

/** What the paints of a progress bar have in common: its words, without the figures and signs that move. */
const outlineOf = (paint: string): string => paint.replace(/[^\p{L}]+/gu, '');

/** Without white space at its end, unless that paints over something. */
function withoutPadding(line: string): string {
  if (SIGNS.test(line)) return line;
  let end = line.length;
  while (end > 0 && (line.charCodeAt(end - 1) === 32 || line.charCodeAt(end - 1) === 9)) end--;
  return end === line.length ? line : line.slice(0, end);
}
