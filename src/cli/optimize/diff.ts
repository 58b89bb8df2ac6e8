export interface DiffLine {
  sign: ' ' | '-' | '+';
  text: string;
}

/** More pairs of lines than this are not compared: what differs is shown as taken out and put in. */
const MAX_PAIRS = 1_000_000;
/** Unchanged lines shown beside a change. */
const CONTEXT = 1;
/** Lines shown of what went or came at one place. */
const MAX_RUN = 6;

/** The lines of two texts, as what stayed, went and came. */
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

/** The beginning of each change with a line around it, at most `limit` lines; `...` stands for what is left out. */
export function shortDiff(lines: readonly DiffLine[], limit: number): DiffLine[] {
  const shown = runsOf(lines).flatMap((run, i, runs) => {
    const isEdge = i === 0 || i === runs.length - 1;
    return run[0]?.sign === ' ' ? shortSame(run, { isFirst: i === 0, isEdge }) : shortChange(run);
  });
  return shown.length <= limit ? shown : [...shown.slice(0, limit - 1), leftOut('... and more changes')];
}

/** What lies between two changes, or at an end of the text. */
function shortSame(run: DiffLine[], { isFirst, isEdge }: { isFirst: boolean; isEdge: boolean }): DiffLine[] {
  if (isEdge) return isFirst ? run.slice(-CONTEXT) : run.slice(0, CONTEXT);
  if (run.length <= 2 * CONTEXT + 1) return run;
  return [...run.slice(0, CONTEXT), leftOut('...'), ...run.slice(-CONTEXT)];
}

function shortChange(run: DiffLine[]): DiffLine[] {
  if (run.length <= MAX_RUN) return run;
  const rest = run.length - MAX_RUN + 1;
  return [
    ...run.slice(0, MAX_RUN - 1),
    leftOut(`... ${rest} more lines ${run[0]?.sign === '-' ? 'removed' : 'added'}`),
  ];
}

function leftOut(text: string): DiffLine {
  return { sign: ' ', text };
}

/** The lines in stretches of one sign. */
function runsOf(lines: readonly DiffLine[]): DiffLine[][] {
  const runs: DiffLine[][] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last?.[0]?.sign === line.sign) last.push(line);
    else runs.push([line]);
  }
  return runs;
}

/** Keeps the longest common subsequence. */
function compare(old: string[], fresh: string[]): DiffLine[] {
  if (old.length * fresh.length > MAX_PAIRS) return [...signed('-', old), ...signed('+', fresh)];
  const kept = commonLengths(old, fresh);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < fresh.length) {
    if (old[i] === fresh[j]) {
      lines.push({ sign: ' ', text: old[i] ?? '' });
      i++;
      j++;
    } else if (kept(i + 1, j) >= kept(i, j + 1)) lines.push({ sign: '-', text: old[i++] ?? '' });
    else lines.push({ sign: '+', text: fresh[j++] ?? '' });
  }
  return [...lines, ...signed('-', old.slice(i)), ...signed('+', fresh.slice(j))];
}

/** How many lines `old` from i on and `fresh` from j on have in common, in order. */
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
