import { isTestRun } from '../../blocks/line-kinds.ts';
import { mentions, needsOthers } from '../../prompt/question.ts';
import { withGaps } from '../log/compress-log.ts';
import type { Scope } from '../scope.ts';

/** Fewer passed tests than this stay. */
const MIN_LINES = 3;
/** A passed test in the output of pytest, unittest, go, cargo, mocha, jest or TAP. */
const PASSED =
  /^\S+(?:::|\s).{0,300}\s(?:PASSED|ok)\s*(?:\[ *\d+%\])?$|^\S+ \.\.\. ok$|^\s*--- PASS: |^\s*[✓✔] |^ok \d+ |^PASS(?:ED)? \S+$/;
/** A failed test when it ran, and in the summary at the end. */
const VERDICT = /^(\S.{0,300}?) (?:FAILED|ERROR)\s*(?:\[ *\d+%\])?$/;
const SUMMARY = /^(?:FAILED|ERROR) (\S.{0,300}?)(?: - .*)?$/;
const ABOUT_PASSED =
  /\b(?:pass(?:ed|es|ing)?|succe\w+|green|how (?:many|long)|slow\w*|durations?|times?|coverage|list)\b/i;
const MARK = '[gw: passed tests and verdicts that the summary repeats left out, "… n" for n of them]';

/**
 * Drops passed tests, and verdicts that the summary repeats, unless the question is about them; level `balanced` only.
 */
export function dropPassed(text: string, scope: Scope): string {
  const { level, question } = scope;
  if (level !== 'balanced' || !question || !isTestRun(text)) return text;
  if (needsOthers(question) || ABOUT_PASSED.test(question.text)) return text;
  const lines = text.split('\n');
  const summary = new Set(lines.map((line) => (line.length > 500 ? undefined : SUMMARY.exec(line)?.[1])));
  const keeps = lines.map((line) => {
    if (line.length > 500 || mentions(question, line)) return true;
    const failed = VERDICT.exec(line)?.[1];
    return !PASSED.test(line) && (failed === undefined || !summary.has(failed));
  });
  if (keeps.filter((keep) => !keep).length < MIN_LINES) return text;
  const selected = withGaps(lines, keeps, MARK);
  if (selected === undefined) return text;
  scope.leaveOut();
  return selected;
}
