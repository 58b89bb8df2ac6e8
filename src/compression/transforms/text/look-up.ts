import { estimateTokens } from '../../prompt/estimate.ts';
import { isLookup, mentions, type Question } from '../../prompt/question.ts';
import { withGaps } from '../log/compress-log.ts';
import type { Scope } from '../scope.ts';

const MIN_LINES = 25;
/** If more than this share of lines is named, the question is not about single lines. */
const MAX_SHARE = 0.2;
const WORTH = 0.93;
const BEFORE = 1;
const AFTER = 3;
const HEAD = 2;
const MARK = '[gw: lines that the question doesn\'t name left out, "… n" for n of them]';

/** Keeps what the question names of a listing; level `balanced` only. */
export function lookUp(text: string, scope: Scope): string {
  const selected = scope.level === 'balanced' ? selectNamedLines(text, scope.question) : undefined;
  if (selected === undefined || estimateTokens(selected) > estimateTokens(text) * WORTH) return text;
  scope.leaveOut();
  return selected;
}

/** For a question about a named thing, keeps the lines that name it, adjacent lines and headings. */
function selectNamedLines(text: string, question: Question | undefined): string | undefined {
  if (!question || !isLookup(question)) return undefined;
  const lines = text.split('\n');
  if (lines.length < MIN_LINES || !areRecords(lines)) return undefined;
  const isNamed = lines.map((line) => mentions(question, line));
  const count = isNamed.filter(Boolean).length;
  if (count === 0 || count > Math.max(2, lines.length * MAX_SHARE)) return undefined;
  const keeps = lines.map((line, i) => i < HEAD || isHeading(line));
  isNamed.forEach((isNamed, i) => {
    if (isNamed) keeps.fill(true, Math.max(0, i - BEFORE), i + AFTER + 1);
  });
  return withGaps(lines, keeps, MARK);
}

/** Whether lines are independent records, as in listings and logs, not prose or Markdown. */
function areRecords(lines: readonly string[]): boolean {
  const filled = lines.slice(0, 200).filter((line) => line.trim() !== '');
  const share = (pattern: RegExp) =>
    filled.filter((line) => pattern.test(line)).length / Math.max(1, filled.length);
  const length = filled.reduce((sum, line) => sum + line.length, 0) / Math.max(1, filled.length);
  return length < 300 && share(/[a-z)][.!?]$/) < 0.25 && share(/^#{1,4} \S/) < 0.02;
}

/** Whether a line is a heading for the lines below, as `ls -R` writes them. */
const isHeading = (line: string): boolean => line.length < 120 && /^[^\s:][^:]*:$/.test(line);
