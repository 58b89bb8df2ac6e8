import { isDated, isTable, startsDated } from '../../blocks/line-kinds.ts';
import { estimateTokens } from '../../prompt/estimate.ts';
import { mentions } from '../../prompt/question.ts';
import type { Scope } from '../scope.ts';
import { encodeLog } from './encode.ts';
import { mineTemplates, splitLine } from './templates.ts';

const MIN_LINES = 12;
const WORTH = 0.93;
/** An error that occurs more often than this, or in a larger share of lines, is not rare. */
const RARE = 10;
const RARE_SHARE = 1 / 20;
const ALWAYS_RARE = 4;
/** Undated text may be a test run, in which similar errors belong to different tests. */
const RARE_UNDATED = 25;
const TROUBLE =
  /error|fail|exception|fatal|panic|warn|critical|abort|denied|refused|timed? ?out|unable|cannot|can't|could not|not found|invalid|unexpected|traceback|segfault|corrupt|missing|emerg|alert|severe|assert|killed|reject|unreachable|mismatch|violation|overflow|out of memory|deadlock|^E {2,}/i;
const NUMBERED = /^\s*\d+[\t:|]/;

const EVENT =
  /\b(?:info|debug|trace|verbose|notice|warn(?:ing)?|err(?:or)?|fatal|passed|failed|skipped|pass|fail|ok|get|post|put|delete|http)\b/i;

/** Questions about frequency, for which every line counts. */
const COUNTS =
  /\b(?:how (?:many|often)|count|number of|total|average|frequen(?:t|cy)|distribution|statistics|histogram|per (?:second|minute|hour|day)|timeline)\b/i;

/**
 * Writes repetitive lines as patterns and values; rare errors and lines that the question names stay whole. Level
 * `balanced` drops most lines of a pattern.
 */
export function compressLog(text: string, scope: Scope): string {
  if (text.split('\n', MIN_LINES).length < MIN_LINES || isNumbered(text)) return text;
  // A user's own list may be as regular as a log.
  const hasEvents = tellsOfEvents(text);
  if (!scope.fromTool && !hasEvents && !isDated(text)) return text;
  const isNamed = (line: string) => mentions(scope.question, line);
  const isTrouble = (line: string) => TROUBLE.test(line);
  const kinds = new Set<string>();
  // The first error of each kind stays whole too, so that every message can be quoted.
  const isFirst = (line: string) => kinds.size < kinds.add(line.replace(/\d+/g, '0')).size;
  const rare = rareIn(text);
  const encoded = encodeLog(text, {
    keepTimes: scope.level === 'safe',
    keepLine: (line, count) => (isTrouble(line) && (count <= rare || isFirst(line))) || isNamed(line),
  });
  // Undated text may be code or prose with a few similar lines.
  if (!encoded || (encoded.coded * 5 < encoded.lines * 2 && !isDated(text))) return text;
  const shortest = estimateTokens(encoded.text) <= estimateTokens(text) * WORTH ? encoded.text : text;
  if (
    scope.level !== 'balanced' ||
    isTable(text) ||
    !tellsOfEvents(text) ||
    COUNTS.test(scope.question?.text ?? '')
  )
    return shortest;
  const selected = selectLogLines(text, { isNamed, isTrouble, maxTrouble: rare });
  if (selected === undefined) return shortest;
  if (estimateTokens(selected) > estimateTokens(shortest) * WORTH) return shortest;
  scope.leaveOut();
  return selected;
}

function rareIn(text: string): number {
  if (!isDated(text)) return RARE_UNDATED;
  const lines = text.split('\n').length;
  return Math.min(RARE, Math.max(ALWAYS_RARE, Math.ceil(lines * RARE_SHARE)));
}

/** Whether the lines are events, with times, levels or outcomes. Similar events can represent each other. */
function tellsOfEvents(text: string): boolean {
  if (startsDated(text)) return true;
  const lines = text.split('\n', 200).filter((line) => line.trim() !== '');
  return lines.filter((line) => EVENT.test(line)).length * 4 > lines.length;
}

/** Whether the lines are numbered, like those of a file, in which every line counts. */
function isNumbered(text: string): boolean {
  const lines = text.split('\n', 60);
  return lines.filter((line) => NUMBERED.test(line)).length * 2 > lines.length;
}

interface LogSelection {
  /** Whether the question names a line. */
  isNamed: (line: string) => boolean;
  /** Whether a line reports an error. */
  isTrouble: (line: string) => boolean;
  /** Up to this many error lines of one pattern are all kept. */
  maxTrouble: number;
}

const MIN_SELECTABLE_LINES = 20;
/** A pattern with at most this many lines is kept whole; of others this many lines are kept. */
const SAMPLES = 2;
/** A shorter gap is not worth its mark. */
const MIN_GAP = 2;
/** Starts a line that stands for dropped lines. */
const GAP = '… ';
const MARK = '[gw: lines like others left out, "… n" for n of them]';

/** Drops log lines that repeat their pattern; rare lines, errors and named lines stay. */
function selectLogLines(text: string, { isNamed, isTrouble, maxTrouble }: LogSelection): string | undefined {
  const lines = text.split('\n');
  if (lines.length < MIN_SELECTABLE_LINES) return undefined;
  const templates = mineTemplates(lines.map(splitLine));
  const seen = new Map<unknown, number>();
  const keeps = lines.map((line, i) => {
    const template = templates[i];
    if (!template || template.count <= SAMPLES || i === 0 || i === lines.length - 1) return true;
    const trouble = isTrouble(line);
    // Errors are distinguished by their words, even where the pattern treats some as values.
    const kind = trouble ? line.replace(/\d+/g, '0') : template;
    const number = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, number);
    return number <= SAMPLES || (trouble && template.count <= maxTrouble) || isNamed(line);
  });
  return withGaps(lines, keeps, MARK);
}

/** The kept lines, with `… n` for each gap and a mark that explains it; undefined if nothing is dropped. */
export function withGaps(
  lines: readonly string[],
  keeps: readonly boolean[],
  mark: string,
): string | undefined {
  const out = [mark];
  let left = 0;
  for (let at = 0; at < lines.length; ) {
    let end = at;
    while (end < lines.length && !keeps[end]) end++;
    if (end - at >= MIN_GAP) {
      out.push(`${GAP}${end - at}`);
      left += end - at;
    } else out.push(...lines.slice(at, end));
    if (end < lines.length) out.push(lines[end] ?? '');
    at = end + 1;
  }
  return left === 0 ? undefined : out.join('\n');
}
