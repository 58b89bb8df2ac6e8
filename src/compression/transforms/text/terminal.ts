import type { Scope } from '../scope.ts';

/** Escape sequences: CSI, OSC, character sets, single letters. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
  /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()#][0-9A-Za-z]|[=>78cDEHMNOZ])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: printed only to terminals
const SIGNS = /[\u001b\b]|\r(?!\n|$)/;
/** Sequences that move the cursor or erase: what a backspace paints over then can't be told from its line alone. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
const MOVES = /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-ln-~]|[78DEHM])/;
/** A rule of symbols and spaces in turn, such as `- - -`; each symbol is a token. */
const DOTTED_RULE = /^([-_=*~.#+])(?: \1){9,} ?$/gm;
const MANY_BLANK_LINES = /\n{4,}/g;

/** Reduces output to what a terminal shows: drops colours, overwritten progress bars and padding. */
export function cleanTerminal(text: string, scope: Scope): string {
  let out = text.replace(DOTTED_RULE, '$1 $1 $1');
  // A user's paste may be an indented list; only control characters prove that it is terminal output.
  if (!scope.fromTool && !SIGNS.test(text)) return out;
  const paints = out.includes('\b') && !MOVES.test(out);
  if (out.includes('\u001b')) out = out.replace(ESCAPES, '');
  return out
    .split('\n')
    .map((line) => withoutPadding(lastPaint(paints ? overstruck(line) : line)))
    .join('\n')
    .replace(MANY_BLANK_LINES, '\n\n\n');
}

/** Characters that fill one cell of a terminal: in wide and combining ones, a backspace is not one character. */
const ONE_CELL = /^[\u0020-\u007e\u00a0-\u02ff\u0370-\u0482\u048a-\u052f\b]*$/;

/**
 * A line as a terminal shows it after its backspaces, which move the cursor and erase nothing: what is written next
 * paints over what was there. A line with other characters than ONE_CELL stays as it is.
 */
function overstruck(line: string): string {
  if (!line.includes('\b') || !ONE_CELL.test(line)) return line;
  const cells: string[] = [];
  let cursor = 0;
  for (const character of line) {
    if (character === '\b') cursor = Math.max(0, cursor - 1);
    else cells[cursor++] = character;
  }
  return cells.join('');
}

/**
 * The last content of a line that a program painted several times with carriage returns, such as a progress bar. Lines
 * that merely end in carriage returns have different texts between them, and stay.
 */
function lastPaint(line: string): string {
  const paints = line.split('\r').filter((paint) => paint !== '');
  const last = paints.at(-1);
  if (last === undefined || paints.length < 2) return line;
  const outline = outlineOf(last);
  if (!paints.every((paint) => outlineOf(paint) === outline)) return line;
  return line.endsWith('\r') ? `${last}\r` : last;
}

/** What the paints of a progress bar have in common: its words, without the figures and signs that move. */
function outlineOf(paint: string): string {
  return paint.replace(/[^\p{L}]+/gu, '');
}

function withoutPadding(line: string): string {
  let end = line.length;
  while (end > 0 && (line.charCodeAt(end - 1) === 32 || line.charCodeAt(end - 1) === 9)) end--;
  return end === line.length ? line : line.slice(0, end);
}
