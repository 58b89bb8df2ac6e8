import type { Question } from '../../prompt/question.ts';
import { findNamed } from './fold.ts';

const PADDED = /^ +\d{1,6}(?:\t|→|: |\| ?)/m;
const PREFIX = /^ *(\d{1,6})(?:\t|→|: |\| ?)/;
const MIN_LINES = 20;

/**
 * Removes the padding of line numbers in file viewer output, which costs two tokens a line. Code that the question
 * names stays as printed, since the next call may have to quote it.
 */
export function unpadNumbers(text: string, question: Question | undefined): string {
  if (!PADDED.test(text.slice(0, 1000))) return text;
  const lines = text.split('\n');
  if (lines.length < MIN_LINES || !isViewed(lines)) return text;
  const isNamed = findNamed(
    lines.map((line) => line.replace(PREFIX, '')),
    question,
  );
  return lines.map((line, i) => (isNamed[i] || !PREFIX.test(line) ? line : line.trimStart())).join('\n');
}

/** Whether the lines are numbered consecutively; the last numbers may have no padding. */
function isViewed(lines: readonly string[]): boolean {
  let next: number | undefined;
  let numbered = 0;
  for (const line of lines) {
    const number = PREFIX.exec(line)?.[1];
    if (number === undefined) continue;
    if (next !== undefined && Number(number) !== next) return false;
    next = Number(number) + 1;
    numbered++;
  }
  return numbered * 10 >= lines.length * 9;
}
