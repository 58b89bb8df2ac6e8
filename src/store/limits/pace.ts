import type { LimitPoint, LimitRow } from './limit-rows.ts';

const PPM = 1_000_000;
const HOUR_MS = 3_600_000;

/** When a window is full if it goes on to fill as it did in the last hour; undefined if it resets before. */
export function fullAtOf(
  { usedPpm, resetsAt }: Pick<LimitRow, 'usedPpm' | 'resetsAt'>,
  run: readonly LimitPoint[],
  now: number,
): number | undefined {
  const [first] = run;
  if (usedPpm >= PPM) return now;
  if (!first) return undefined;
  const since = Math.max(first.at, now - HOUR_MS);
  const rise = usedPpm - first.usedPpm;
  if (rise <= 0 || now <= since) return undefined;
  const fullAt = Math.round(now + ((PPM - usedPpm) * (now - since)) / rise);
  return fullAt < resetsAt ? fullAt : undefined;
}
