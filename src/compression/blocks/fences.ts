import { closers } from './block-openers.ts';
import { FENCE } from './format-examples.ts';

/** For each line, whether it is inside a fence or opens or closes one. */
export function fencedLines(lines: readonly string[]): boolean[] {
  const fenced = lines.map(() => false);
  const close = closers(lines);
  for (let at = 0; at < lines.length; at++) {
    const mark = FENCE.exec(lines[at] ?? '')?.[1];
    if (mark === undefined) continue;
    const end = close.fence(at, mark);
    fenced.fill(true, at, end + 1);
    at = end;
  }
  return fenced;
}
