export interface DiffLine {
  sign: ' ' | '-' | '+';
  text: string;
}

/** Beyond this many pairs of lines, the differing part is shown as removed and added as a whole. */
const MAX_PAIRS = 1_000_000;
/** Unchanged lines shown next to a change. */
const CONTEXT = 1;
/** Most lines shown of one run of removed or added lines. */
const MAX_RUN = 6;

/** Line diff of two texts. */
export function diffLines(before: string, after: string): DiffLine[] {
  const old = before.split('\n');
  const fresh = after.split('\n');
  const shortest = Math.min(old.length, fresh.length);
  let head = 0;
  while (head < shortest && old[head] === fresh[head]) head++;
  let tail = 0;
  while (tail < shortest - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail++;
  return [
    ...signed(' ', old.slice(0, head)),
    ...compare(old.slice(head, old.length - tail), fresh.slice(head, fresh.length - tail)),
    ...signed(' ', old.slice(old.length - tail)),
  ];
}

/** Shortens a diff to the start of each change with one line of context, at most `limit` lines. `...` marks a gap. */
export function shortDiff(lines: readonly DiffLine[], limit: number): DiffLine[] {
  const shown = runsOf(lines).flatMap((run, i, runs) => {
    const isEdge = i === 0 || i === runs.length - 1;
    return run[0]?.sign === ' ' ? shortSame(run, { isFirst: i === 0, isEdge }) : shortChange(run);
  });
  return shown.length <= limit ? shown : [...shown.slice(0, limit - 1), gap('... and more changes')];
}

/** Shortens unchanged lines between two changes, or at either end of the text. */
function shortSame(run: DiffLine[], { isFirst, isEdge }: { isFirst: boolean; isEdge: boolean }): DiffLine[] {
  if (isEdge) return isFirst ? run.slice(-CONTEXT) : run.slice(0, CONTEXT);
  if (run.length <= 2 * CONTEXT + 1) return run;
  return [...run.slice(0, CONTEXT), gap('...'), ...run.slice(-CONTEXT)];
}

function shortChange(run: DiffLine[]): DiffLine[] {
  if (run.length <= MAX_RUN) return run;
  const rest = run.length - MAX_RUN + 1;
  return [
    ...run.slice(0, MAX_RUN - 1),
    gap(`... ${rest} more lines ${run[0]?.sign === '-' ? 'removed' : 'added'}`),
  ];
}

function gap(text: string): DiffLine {
  return { sign: ' ', text };
}

/** Groups consecutive lines with the same sign. */
function runsOf(lines: readonly DiffLine[]): DiffLine[][] {
  const runs: DiffLine[][] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last?.[0]?.sign === line.sign) last.push(line);
    else runs.push([line]);
  }
  return runs;
}

/** Diff that keeps the longest common subsequence. */
function compare(old: string[], fresh: string[]): DiffLine[] {
  if (old.length * fresh.length > MAX_PAIRS) return [...signed('-', old), ...signed('+', fresh)];
  const commonLength = commonLengths(old, fresh);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push({ sign: ' ', text: old[i] ?? '' });
      i++;
      j++;
    } else if (commonLength(i + 1, j) >= commonLength(i, j + 1))
      lines.push({ sign: '-', text: old[i++] ?? '' });
    else lines.push({ sign: '+', text: fresh[j++] ?? '' });
  }
  return [...lines, ...signed('-', old.slice(i)), ...signed('+', fresh.slice(j))];
}

/** Length of the longest common subsequence of `old` from i and `fresh` from j. */
function commonLengths(old: string[], fresh: string[]): (i: number, j: number) => number {
  const width = fresh.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return at;
}

function signed(sign: DiffLine['sign'], lines: string[]): DiffLine[] {
  return lines.map((text) => ({ sign, text }));
}
