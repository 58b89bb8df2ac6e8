import { mineTemplates, splitLine } from './templates.ts';

export interface LogSelection {
  /** Whether the question names a line. */
  isNamed: (line: string) => boolean;
  /** Whether a line reports an error. */
  isTrouble: (line: string) => boolean;
  /** Up to this many error lines of one pattern are all kept. */
  maxTrouble: number;
}

const MIN_LINES = 20;
/** A pattern with at most this many lines is kept whole; of others this many lines are kept. */
const SAMPLES = 2;
/** A shorter gap is not worth its mark. */
const MIN_GAP = 2;
/** Starts a line that stands for dropped lines. */
export const GAP = '… ';
const MARK = '[gw: lines like others left out, "… n" for n of them]';

/** Drops log lines that repeat their pattern; rare lines, errors and named lines stay. */
export function selectLogLines(
  text: string,
  { isNamed, isTrouble, maxTrouble }: LogSelection,
): string | undefined {
  const lines = text.split('\n');
  if (lines.length < MIN_LINES) return undefined;
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
