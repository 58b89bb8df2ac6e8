import { lengthOf } from '../../blocks/blocks.ts';

/** A shorter run is not worth its mark. */
const MIN_LINES = 2;
const MIN_LENGTH = 80;
const MAX_CYCLE = 60;

/**
 * Replaces repeated lines of a text by marks. The first line of a repeated run stays: its last occurrence tells where
 * the copy starts. A run that directly follows its copy becomes a repeat count. Lossless.
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

/** How many lines from `at` on repeat the lines between `before` and `at`, in whole cycles; 0 if not worth a mark. */
function cycleLength(lines: readonly string[], before: number, at: number): number {
  const period = at - before;
  if (period > MAX_CYCLE) return 0;
  let length = 0;
  while (at + length < lines.length && lines[at + length] === lines[before + length]) length++;
  length -= length % period;
  return length >= MIN_LINES && lengthOf(lines, at, at + length) >= MIN_LENGTH ? length : 0;
}

/** How many lines after `at` equal those after `before`, without overlap. */
function runLength(lines: readonly string[], before: number, at: number): number {
  let run = 0;
  while (
    before + run + 1 < at &&
    at + run + 1 < lines.length &&
    lines[before + run + 1] === lines[at + run + 1]
  )
    run++;
  return run >= MIN_LINES && lengthOf(lines, at + 1, at + 1 + run) >= MIN_LENGTH ? run : 0;
}
