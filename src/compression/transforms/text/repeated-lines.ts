/** A run must be worth more than its mark. */
const MIN_LINES = 2;
const MIN_LENGTH = 80;
const MAX_CYCLE = 60;

/**
 * Lines that stood before in the same text, as a mark: after the first of them, whose last place before is
 * where the copy is found, or, when they follow on their copy, as how many times more. `restoreRepeats`
 * undoes it.
 */
export function foldRepeats(text: string): string {
  const lines = text.split('\n');
  const lastAt = new Map<string, number>();
  const out: string[] = [];
  let folded = false;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const before = lastAt.get(line) ?? -1;
    const cycle = before < 0 ? 0 : cycleLength(lines, before, at);
    const run = before < 0 || cycle > 0 ? 0 : runLength(lines, before, at);
    if (cycle > 0) {
      out.push(cycleMark(at - before, cycle / (at - before)));
    } else {
      out.push(line);
      if (run > 0) out.push(`[gw: next ${run} lines as after this line before]`);
    }
    folded ||= cycle + run > 0;
    const end = at + Math.max(cycle, run + 1);
    for (; at < end; at++) lastAt.set(lines[at] ?? '', at);
  }
  return folded ? out.join('\n') : text;
}

function cycleMark(period: number, times: number): string {
  return `[gw: the last ${period === 1 ? 'line' : `${period} lines`} ${times} more times]`;
}

/** How many lines from `at` on repeat those from `before` up to it, whole times; 0 where that isn't worth a mark. */
function cycleLength(lines: readonly string[], before: number, at: number): number {
  const period = at - before;
  if (period > MAX_CYCLE) return 0;
  let length = 0;
  while (at + length < lines.length && lines[at + length] === lines[before + length]) length++;
  length -= length % period;
  return length >= MIN_LINES && lengthOf(lines, at, length) >= MIN_LENGTH ? length : 0;
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
  return run >= MIN_LINES && lengthOf(lines, at + 1, run) >= MIN_LENGTH ? run : 0;
}

function lengthOf(lines: readonly string[], from: number, count: number): number {
  let length = 0;
  for (let i = from; i < from + count; i++) length += (lines[i]?.length ?? 0) + 1;
  return length;
}
