import { estimateTokens } from './estimate.ts';
import { encodeLog } from './log-encode.ts';
import { isDated } from './log-lines.ts';
import { mentions } from './question.ts';
import type { Scope } from './scope.ts';

const MIN_LINES = 12;
const WORTH = 0.93;
/** An error that occurs more often than this is no longer news. */
const RARE = 10;
const TROUBLE =
  /error|fail|exception|fatal|panic|warn|critical|abort|denied|refused|timed? ?out|unable|cannot|can't|could not|not found|invalid|unexpected|traceback|segfault|corrupt|missing|emerg|alert|severe/i;
const NUMBERED = /^\s*\d+[\t:|]/;

/** Repetitive lines become patterns and values; rare trouble and what the question names stay whole. */
export function compressLog(text: string, scope: Scope): string {
  const lines = text.split('\n', MIN_LINES);
  if (lines.length < MIN_LINES || isNumbered(text)) return text;
  const encoded = encodeLog(text, {
    keepLine: (line, count) => (count <= RARE && TROUBLE.test(line)) || mentions(scope.question, line),
  });
  // What isn't dated may be code or prose with a few like lines in it.
  if (!encoded || (encoded.coded * 5 < encoded.lines * 2 && !isDated(text))) return text;
  return estimateTokens(encoded.text) <= estimateTokens(text) * WORTH ? encoded.text : text;
}

/** Numbered lines are a file, whose every line is meant as it is. */
function isNumbered(text: string): boolean {
  const lines = text.split('\n', 60);
  return lines.filter((line) => NUMBERED.test(line)).length * 2 > lines.length;
}
