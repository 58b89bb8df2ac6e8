/** A run must be worth more than its mark. */
const MIN_LINES = 2;
const MIN_LENGTH = 80;
const AGAIN = /^\[gw: next (\d+) lines as after this line before\]$/;

/**
 * Lines that stood before in the same text, as a mark after the first of them. That line's last place
 * before is where the copy is found. `restoreRepeats` undoes it.
 */
export function foldRepeats(text: string): string {
  const lines = text.split('\n');
  const lastAt = new Map<string, number>();
  const out: string[] = [];
  let folded = false;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const before = lastAt.get(line);
    const run = before === undefined ? 0 : runLength(lines, before, at);
    out.push(line);
    lastAt.set(line, at);
    if (run < MIN_LINES || lengthOf(lines, at + 1, run) < MIN_LENGTH) {
      at++;
      continue;
    }
    out.push(`[gw: next ${run} lines as after this line before]`);
    folded = true;
    for (let i = at + 1; i <= at + run; i++) lastAt.set(lines[i] ?? '', i);
    at += run + 1;
  }
  return folded ? out.join('\n') : text;
}

/** Undoes `foldRepeats`. */
export function restoreRepeats(text: string): string {
  const lines: string[] = [];
  const lastAt = new Map<string, number>();
  const push = (line: string) => {
    lastAt.set(line, lines.length);
    lines.push(line);
  };
  let from = 0;
  for (const line of text.split('\n')) {
    const again = AGAIN.exec(line);
    if (again) {
      for (let i = 1; i <= Number(again[1]); i++) push(lines[from + i] ?? '');
    } else {
      from = lastAt.get(line) ?? 0;
      push(line);
    }
  }
  return lines.join('\n');
}

/** How many lines after `at` equal those after `before`; the copy may not run into itself. */
function runLength(lines: readonly string[], before: number, at: number): number {
  let run = 0;
  while (
    before + run + 1 < at &&
    at + run + 1 < lines.length &&
    lines[before + run + 1] === lines[at + run + 1]
  )
    run++;
  return run;
}

function lengthOf(lines: readonly string[], from: number, count: number): number {
  let length = 0;
  for (let i = from; i < from + count; i++) length += (lines[i]?.length ?? 0) + 1;
  return length;
}
