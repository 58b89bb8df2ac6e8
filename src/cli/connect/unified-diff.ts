import { type Palette, plain } from '../../terminal/palette.ts';

const CONTEXT_LINES = 3;

interface Line {
  kind: ' ' | '+' | '-';
  text: string;
}

interface DiffOptions {
  palette: Palette;
  /** What is shown of a line. */
  show?: (line: string) => string;
}

/** The lines of a unified diff of two texts, without the headers of files. Empty for equal texts. */
export function unifiedDiff(
  before: string,
  after: string,
  { palette: { accent, bad, dim }, show = plain }: DiffOptions,
): string[] {
  const lines = compare(linesOf(before), linesOf(after));
  const paint = { ' ': plain, '+': accent, '-': bad };
  const shown = lines.map((_, i) =>
    lines.slice(Math.max(0, i - CONTEXT_LINES), i + CONTEXT_LINES + 1).some(({ kind }) => kind !== ' '),
  );
  const result: string[] = [];
  let numbers = { before: 1, after: 1 };
  lines.forEach(({ kind, text }, i) => {
    if (shown[i] && !shown[i - 1]) {
      const end = shown.indexOf(false, i);
      result.push(dim(hunkHeader(lines.slice(i, end < 0 ? undefined : end), numbers)));
    }
    if (shown[i]) result.push(paint[kind](kind + show(text)));
    numbers = {
      before: numbers.before + (kind === '+' ? 0 : 1),
      after: numbers.after + (kind === '-' ? 0 : 1),
    };
  });
  return result;
}

function hunkHeader(lines: readonly Line[], { before, after }: { before: number; after: number }): string {
  const removed = lines.filter(({ kind }) => kind !== '+').length;
  const added = lines.filter(({ kind }) => kind !== '-').length;
  // An empty range is named by the line before it.
  const range = (from: number, count: number) => `${count === 0 ? from - 1 : from},${count}`;
  return `@@ -${range(before, removed)} +${range(after, added)} @@`;
}

/** Without line endings: a diff for people need not tell them apart. */
function linesOf(text: string): string[] {
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The shortest way from one list to the other, by the longest common subsequence of what differs in the middle. */
function compare(before: readonly string[], after: readonly string[]): Line[] {
  const limit = Math.min(before.length, after.length);
  let head = 0;
  while (head < limit && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < limit - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const same = (lines: readonly string[]) => lines.map((text): Line => ({ kind: ' ', text }));
  return [
    ...same(before.slice(0, head)),
    ...compareMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

function compareMiddle(before: readonly string[], after: readonly string[]): Line[] {
  const width = after.length + 1;
  // lengths[i * width + j]: longest common subsequence of before[i..] and after[j..].
  const lengths = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, added] = [before[i], after[j]];
    if (old !== undefined && old === added) {
      lines.push({ kind: ' ', text: old });
      i++;
      j++;
    } else if (old !== undefined && (added === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: '-', text: old });
      i++;
    } else {
      lines.push({ kind: '+', text: added ?? '' });
      j++;
    }
  }
  return lines;
}
