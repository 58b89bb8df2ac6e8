import { codeUnits } from './code-units.ts';
import { KIND_BITS, kindsOf, type WordKind } from './lexicon.ts';

/** Counts from one pass over a prompt. */
export interface Scan extends Record<WordKind, number> {
  words: number;
  numbers: number;
  commas: number;
  sentences: number;
  lines: number;
  questions: number;
  /** LaTeX commands such as `\frac`. */
  latex: number;
  /** Mathematical operators such as `^`, `=`, `<`, `+` and `∑`. */
  operators: number;
  /** Braces, brackets, opening parentheses, semicolons and backticks. */
  brackets: number;
  quotes: number;
  capitals: number;
  longWords: number;
  letters: number;
  nonAscii: number;
  /** Lines that begin like a multiple-choice option: `A.`, `B)`, `(C)`. */
  options: number;
  listItems: number;
}

const LETTER = 1;
const DIGIT = 2;
const APOSTROPHE = 3;
const OPERATOR = 4;
const BRACKET = 5;
const LINE_END = 6;
const COMMA = 7;
const QUOTE = 8;
const BACKSLASH = 9;
const STOP = 10;
const QUESTION = 11;

/** Class of each UTF-16 code unit; 0 when it is not counted. */
const KIND = new Uint8Array(0x10000).fill(LETTER);
// Signs and symbols, with letters and digits among them.
KIND.fill(0, 0, 0xc0);
KIND.fill(0, 0x2000, 0x2e80);
KIND.fill(DIGIT, 48, 58);
KIND.fill(LETTER, 65, 91);
KIND.fill(LETTER, 97, 123);
const KINDS: [number, string][] = [
  [OPERATOR, '^=<>+*−√∫∑≤≥≠±∞∈'],
  [BRACKET, '{}[];`('],
  [LINE_END, '\n'],
  [APOSTROPHE, "'"],
  [COMMA, ','],
  [QUOTE, '"'],
  [BACKSLASH, '\\'],
  [STOP, '.!'],
  [QUESTION, '?'],
];
for (const [kind, signs] of KINDS) for (const sign of signs) KIND[sign.charCodeAt(0)] = kind;

/** Scans a text in one pass. Reads at most 8,000 characters. */
export function scan(text: string): Scan {
  const { units, length } = codeUnits(text);
  const counts = emptyScan();
  countLineStart(counts, units, 0);
  let at = 0;
  while (at < length) {
    const kind = KIND[units[at] ?? 0];
    if (kind === LETTER) at = countWord(counts, units, at);
    else if (kind === DIGIT) at = countNumber(counts, units, at);
    else {
      if (kind !== 0) countMark(counts, kind, units, at);
      at++;
    }
  }
  return counts;
}

function countWord(counts: Scan, units: Uint16Array, from: number): number {
  let end = from + 1;
  for (; ; end++) {
    const kind = KIND[units[end] ?? 0];
    if (kind !== LETTER && kind !== APOSTROPHE) break;
  }
  const length = end - from;
  counts.words++;
  counts.letters += length;
  if (length >= 9) counts.longWords++;
  const first = units[from] ?? 0;
  if (first < 97) counts.capitals++;
  else if (first > 191) counts.nonAscii++;
  const kinds = kindsOf(units, from, end);
  if (kinds !== 0) countKinds(counts, kinds);
  return end;
}

function countKinds(counts: Scan, kinds: number): void {
  if (kinds & KIND_BITS.condition) counts.condition++;
  if (kinds & KIND_BITS.negation) counts.negation++;
  if (kinds & KIND_BITS.writing) counts.writing++;
  if (kinds & KIND_BITS.code) counts.code++;
  if (kinds & KIND_BITS.maths) counts.maths++;
  if (kinds & KIND_BITS.comparison) counts.comparison++;
}

function countNumber(counts: Scan, units: Uint16Array, from: number): number {
  counts.numbers++;
  let end = from + 1;
  for (; ; end++) {
    const kind = KIND[units[end] ?? 0];
    const joins = kind === COMMA || (units[end] ?? 0) === 46; // 1,000 and 3.14
    if (kind !== DIGIT && !(joins && isDigitAt(units, end + 1))) break;
  }
  return end;
}

function countMark(counts: Scan, kind: number | undefined, units: Uint16Array, at: number): void {
  switch (kind) {
    case LINE_END:
      counts.lines++;
      countLineStart(counts, units, at + 1);
      break;
    case COMMA:
      counts.commas++;
      break;
    case QUOTE:
      counts.quotes++;
      break;
    case OPERATOR:
      counts.operators++;
      break;
    case BRACKET:
      counts.brackets++;
      break;
    case BACKSLASH:
      if (KIND[units[at + 1] ?? 0] === LETTER) counts.latex++;
      break;
    case QUESTION:
      counts.questions++;
      countSentence(counts, units, at);
      break;
    case STOP:
      countSentence(counts, units, at);
      break;
  }
}

/** A stop ends a sentence if white space or the end of the text follows. */
function countSentence(counts: Scan, units: Uint16Array, at: number): void {
  if (!((units[at + 1] ?? 0) > 32)) counts.sentences++;
}

/**
 * `A.`, `(B)` and `c.` begin an option; `a)` does not, since it more often begins a part of a question. `-` and `1.`
 * begin a list item.
 */
function countLineStart(counts: Scan, units: Uint16Array, from: number): void {
  let at = from;
  while (isBlankAt(units, at)) at++;
  const code = units[at] ?? 0;
  if (isDigitAt(units, at)) {
    do at++;
    while (isDigitAt(units, at));
    if (isStopOrBracketAt(units, at) && isBlankAt(units, at + 1)) counts.listItems++;
  } else if (code === 45 || code === 42 || code === 0x2022) {
    if (isBlankAt(units, at + 1)) counts.listItems++;
  } else if (isOptionAt(units, code === 40 ? at + 1 : at, code === 40)) counts.options++;
}

function isOptionAt(units: Uint16Array, at: number, inBrackets: boolean): boolean {
  const letter = units[at] ?? 0;
  const isCapital = letter >= 65 && letter <= 74;
  if (!isCapital && (inBrackets || letter < 97 || letter > 106)) return false;
  if (!isBlankAt(units, at + 2)) return false;
  return isCapital ? isStopOrBracketAt(units, at + 1) : (units[at + 1] ?? 0) === 46;
}

function isStopOrBracketAt(units: Uint16Array, at: number): boolean {
  const code = units[at] ?? 0;
  return code === 46 || code === 41;
}

function isBlankAt(units: Uint16Array, at: number): boolean {
  const code = units[at] ?? 0;
  return code === 32 || code === 9;
}

function isDigitAt(units: Uint16Array, at: number): boolean {
  return KIND[units[at] ?? 0] === DIGIT;
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
    comparison: 0,
    writing: 0,
    code: 0,
    maths: 0,
  };
}
