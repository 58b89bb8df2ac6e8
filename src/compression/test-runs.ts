import { isTestRun } from './log-lines.ts';
import { withGaps } from './log-select.ts';
import { mentions, needsOthers } from './question.ts';
import type { Scope } from './scope.ts';

/** Fewer lines of passed tests than this are left. */
const MIN_PASSED = 4;
/** A line that tells of one passed test, as pytest, unittest, go, cargo, mocha, jest and TAP print it. */
const PASSED =
  /^\S+(?:::|\s).{0,300}\s(?:PASSED|ok)\s*(?:\[ *\d+%\])?$|^\S+ \.\.\. ok$|^\s*--- PASS: |^\s*[✓✔] |^ok \d+ |^PASS(?:ED)? \S+$/;
const ABOUT_PASSED =
  /\b(?:pass(?:ed|es|ing)?|succe\w+|green|how (?:many|long)|slow\w*|durations?|times?|coverage|list)\b/i;
const MARK = '[gw: lines of passed tests left out, "… n" for n of them]';

/** A test run without the tests that passed, for a question about those that did not; level `balanced` only. */
export function dropPassed(text: string, scope: Scope): string {
  const { level, question } = scope;
  if (level !== 'balanced' || !question || !isTestRun(text)) return text;
  if (needsOthers(question) || ABOUT_PASSED.test(question.text)) return text;
  const lines = text.split('\n');
  const keeps = lines.map((line) => line.length > 500 || !PASSED.test(line) || mentions(question, line));
  if (keeps.filter((keep) => !keep).length < MIN_PASSED) return text;
  const selected = withGaps(lines, keeps, MARK);
  if (selected === undefined) return text;
  scope.leaveOut();
  return selected;
}
