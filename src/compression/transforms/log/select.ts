import { mineTemplates, splitLine } from './templates.ts';

export interface LogSelection {
  /** Lines that the question names. */
  isNamed: (line: string) => boolean;
  /** Lines that tell of trouble. */
  isTrouble: (line: string) => boolean;
  /** Of one pattern, no more lines of trouble than this are all news. */
  maxTrouble: number;
}

const MIN_LINES = 20;
/** A pattern with no more lines than this is news; of others, this many stand for all. */
const SAMPLES = 2;
/** A gap shorter than its mark is not worth it. */
const MIN_GAP = 2;
/** What a line for left-out lines starts with. */
export const GAP = '… ';
const MARK = '[gw: lines like others left out, "… n" for n of them]';

/** Leaves out log lines that say what others of their pattern say; rare lines, trouble and named lines stay. */
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
    // Trouble is told apart by its words, even where a pattern has taken some for values.
    const kind = trouble ? line.replace(/\d+/g, '0') : template;
    const number = (seen.get(kind) ?? 0) + 1;
    seen.set(kind, number);
    return number <= SAMPLES || (trouble && template.count <= maxTrouble) || isNamed(line);
  });
  return withGaps(lines, keeps, MARK);
}

/** The kept lines, with `… n` for each gap and a mark that explains it; undefined when nothing goes. */
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
