import type { Scope } from '../scope.ts';

/** Escape sequences: CSI, OSC, character sets, single letters. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences start with one
  /\u001b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[()#][0-9A-Za-z]|[=>78cDEHMNOZ])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a backspace
const ERASED = /[^\n\b]\u0008/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: printed only to terminals
const SIGNS = /[\u001b\b]|\r(?!\n|$)/;
/** A rule of symbols and spaces in turn, such as `- - -`; each symbol is a token. */
const DOTTED_RULE = /^([-_=*~.#+])(?: \1){9,} ?$/gm;
const MANY_BLANK_LINES = /\n{4,}/g;

/** Reduces output to what a terminal shows: drops colours, overwritten progress bars and padding. */
export function cleanTerminal(text: string, scope: Scope): string {
  let out = text.replace(DOTTED_RULE, '$1 $1 $1');
  // A user's paste may be an indented list; only control characters prove that it is terminal output.
  if (!scope.fromTool && !SIGNS.test(text)) return out;
  if (out.includes('\u001b')) out = out.replace(ESCAPES, '');
  if (out.includes('\b')) out = out.replace(ERASED, '');
  return out
    .split('\n')
    .map((line) => withoutPadding(lastPaint(line)))
    .join('\n')
    .replace(MANY_BLANK_LINES, '\n\n\n');
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
