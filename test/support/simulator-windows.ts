const MINUTE_MS = 60_000;
const MAX_WINDOWS = 100;

export interface Window {
  cap: number;
  windowMs: number;
  now: number;
  /** What the window has spent by now, and holds. */
  used: number;
  /** The last minute of the future that has spent or holds something. */
  last: number;
}

/**
 * Where a rolling budget books what it has spent and holds in the future: it fills the window that it is now, then those
 * after it, so that none has to grant what was spent before. Holds stay whole.
 */
export function spread({ cap, windowMs, now, used, last }: Window, paid: number, holds: readonly number[]) {
  const first = now - (now % MINUTE_MS);
  const length = Math.ceil(windowMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const windows = cap === 0 ? 0 : Math.min(MAX_WINDOWS - 1, Math.floor((last - first) / length));
  const parts: { start: number; amount: number }[] = [];
  let index = 0;
  let room = Math.max(0, cap - used);
  const enterNext = () => {
    index++;
    room = cap;
  };
  for (let left = paid; left > 0; ) {
    const amount = index >= windows ? left : Math.min(left, room);
    if (amount > 0) parts.push({ start: first + index * length, amount });
    left -= amount;
    room -= amount;
    if (left > 0) enterNext();
  }
  const held = holds.map((amount) => {
    if (amount > room && room < cap && index < windows) enterNext();
    room -= amount;
    return first + index * length;
  });
  return { paid: parts, held };
}
