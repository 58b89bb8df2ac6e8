import { withGaps } from './log-select.ts';
import { isLookup, mentions, type Question } from './question.ts';

const MIN_LINES = 25;
/** More lines than this share, and the question is not about single ones. */
const MAX_SHARE = 0.2;
const BEFORE = 1;
const AFTER = 3;
const HEAD = 2;
const MARK = '[gw: lines that the question doesn\'t name left out, "… n" for n of them]';

/** For a question about a named thing: the lines that name it, those beside them, and headings. */
export function selectNamedLines(text: string, question: Question | undefined): string | undefined {
  if (!question || !isLookup(question)) return undefined;
  const lines = text.split('\n');
  if (lines.length < MIN_LINES) return undefined;
  const named = lines.map((line) => mentions(question, line));
  const count = named.filter(Boolean).length;
  if (count === 0 || count > Math.max(2, lines.length * MAX_SHARE)) return undefined;
  const keeps = lines.map((line, i) => i < HEAD || isHeading(line));
  named.forEach((isNamed, i) => {
    if (isNamed) keeps.fill(true, Math.max(0, i - BEFORE), i + AFTER + 1);
  });
  return withGaps(lines, keeps, MARK);
}

/** A line that says what the lines under it are about, as `ls -R` writes them. */
function isHeading(line: string): boolean {
  return line.length < 120 && /^[^\s:][^:]*:$/.test(line);
}
