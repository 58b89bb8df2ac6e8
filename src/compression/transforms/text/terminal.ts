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

/** The last content of a line that was overwritten with carriage returns. */
function lastPaint(line: string): string {
  const end = line.endsWith('\r') ? line.length - 1 : line.length;
  const from = end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1;
  return from === 0 ? line : line.slice(from);
}

function withoutPadding(line: string): string {
  let end = line.length;
  while (end > 0 && (line.charCodeAt(end - 1) === 32 || line.charCodeAt(end - 1) === 9)) end--;
  return end === line.length ? line : line.slice(0, end);
}
