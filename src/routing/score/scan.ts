import { kindsOf, type WordKind } from './lexicon.ts';

/** What one pass over a prompt counts. */
export interface Scan extends Record<WordKind, number> {
  words: number;
  numbers: number;
  commas: number;
  sentences: number;
  lines: number;
  questions: number;
  /** LaTeX commands such as `\frac`. */
  latex: number;
  /** Operators: ^ = < > + * and their like. */
  operators: number;
  /** Brackets, braces, semicolons, backticks. */
  brackets: number;
  quotes: number;
  capitals: number;
  longWords: number;
  letters: number;
  nonAscii: number;
  /** Lines that begin like an answer to choose: `A.`, `B)`, `(C)`. */
  options: number;
  listItems: number;
}

const HEAD_CHARS = 6_000;
const TAIL_CHARS = 2_000;
// Not `a)`, which begins a part of a question more often than an answer to choose.
const OPTION_LINE = /^[ \t]*(?:\(?[A-J][.)]|[a-j]\.)[ \t]/gm;
const LIST_LINE = /^[ \t]*(?:[-*•]|\d+[.)])[ \t]/gm;
const OPERATORS = new Set([...'^=<>+*−×÷√∫∑≤≥≠±∞∈'].map((char) => char.charCodeAt(0)));
const BRACKETS = new Set([...'{}[];`('].map((char) => char.charCodeAt(0)));

/** The part of a long text that is looked at: its beginning and its end, where the request usually stands. */
export function excerpt(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  return `${text.slice(0, HEAD_CHARS)}\n${text.slice(-TAIL_CHARS)}`;
}

/** Counts in one pass; 8,000 characters at most are read. */
export function scan(text: string): Scan {
  const read = excerpt(text);
  const counts = emptyScan();
  let at = 0;
  while (at < read.length) {
    const code = read.charCodeAt(at);
    if (isLetter(code)) at = countWord(counts, read, at);
    else if (isDigit(code)) at = countNumber(counts, read, at);
    else countMark(counts, code, read.charCodeAt(++at));
  }
  counts.options = countMatches(read, OPTION_LINE);
  counts.listItems = countMatches(read, LIST_LINE);
  return counts;
}

function countWord(counts: Scan, text: string, from: number): number {
  let end = from + 1;
  while (end < text.length && isWordPart(text.charCodeAt(end))) end++;
  const length = end - from;
  counts.words++;
  counts.letters += length;
  if (length >= 9) counts.longWords++;
  const first = text.charCodeAt(from);
  if (first < 97) counts.capitals++;
  else if (first > 191) counts.nonAscii++;
  // No listed word is longer than 14 letters.
  const kinds = length <= 14 ? kindsOf(text.slice(from, end).toLowerCase()) : undefined;
  if (kinds) for (const kind of kinds) counts[kind]++;
  return end;
}

function countNumber(counts: Scan, text: string, from: number): number {
  let end = from + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    const joins = (code === 44 || code === 46) && isDigit(text.charCodeAt(end + 1)); // 1,000 and 3.14
    if (!isDigit(code) && !joins) break;
  }
  counts.numbers++;
  return end;
}

function countMark(counts: Scan, code: number, next: number): void {
  if (code === 10) counts.lines++;
  else if (code === 44) counts.commas++;
  else if (code === 63) counts.questions++;
  else if (code === 34) counts.quotes++;
  else if (code === 92) counts.latex += isLetter(next) ? 1 : 0;
  else if (OPERATORS.has(code)) counts.operators++;
  else if (BRACKETS.has(code)) counts.brackets++;
  // A full stop ends a sentence where no letter or digit follows it.
  if ((code === 46 || code === 33 || code === 63) && !(next > 32)) counts.sentences++;
}

function countMatches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

function isLetter(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code > 191 && code < 0x2000) ||
    code > 0x2e7f
  );
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isWordPart(code: number): boolean {
  return isLetter(code) || code === 39;
}

function emptyScan(): Scan {
  return {
    words: 0,
    numbers: 0,
    commas: 0,
    sentences: 0,
    lines: 1,
    questions: 0,
    latex: 0,
    operators: 0,
    brackets: 0,
    quotes: 0,
    capitals: 0,
    longWords: 0,
    letters: 0,
    nonAscii: 0,
    options: 0,
    listItems: 0,
    condition: 0,
    negation: 0,
    writing: 0,
    code: 0,
    maths: 0,
  };
}
