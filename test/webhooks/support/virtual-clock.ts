import type { Clock } from '../../../src/clock.ts';

/** A clock that stands still until it is told to go on. */
export interface VirtualClock extends Clock {
  /** Goes on by `ms`, and runs the timers on the way in their order. */
  advance(ms: number): void;
  /** When the next timer is due. */
  nextAt(): number | undefined;
  /** Goes on to the next timer and runs it; false if there is none. */
  advanceToNext(): boolean;
}

export const START = Date.UTC(2026, 4, 12, 13, 40);

export function createVirtualClock(startMs = START): VirtualClock {
  let nowMs = startMs;
  let timers: { at: number; callback: () => void }[] = [];

  function next(until: number): boolean {
    const [first] = timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at);
    if (!first) return false;
    timers = timers.filter((timer) => timer !== first);
    nowMs = Math.max(nowMs, first.at);
    first.callback();
    return true;
  }

  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    after(delayMs, callback) {
      const timer = { at: nowMs + Math.max(0, delayMs), callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(ms) {
      const until = nowMs + ms;
      while (next(until));
      nowMs = until;
    },
    nextAt: () => (timers.length === 0 ? undefined : Math.min(...timers.map((timer) => timer.at))),
    advanceToNext: () => next(Number.POSITIVE_INFINITY),
  };
}
