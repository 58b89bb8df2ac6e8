import type { Clock } from '../../src/clock.ts';

/** A clock that stands still until it is run; timers fire in the order of their time. */
export interface VirtualClock extends Clock {
  /** Fires what is due within `ms` and stands `ms` later. */
  advance(ms: number): void;
  /** Sets the UTC clock by `ms`, as a person or NTP does; monotonic time is not moved. */
  jump(ms: number): void;
}

export function virtualClock(startUtcMs = Date.UTC(2026, 0, 1)): VirtualClock {
  let monotonicMs = 0;
  let utcOffsetMs = startUtcMs;
  let timers: { atMs: number; callback: () => void }[] = [];
  return {
    now: () => monotonicMs + utcOffsetMs,
    monotonic: () => monotonicMs,
    after(delayMs, callback) {
      const timer = { atMs: monotonicMs + Math.max(0, delayMs), callback };
      const at = timers.findIndex(({ atMs }) => atMs > timer.atMs);
      timers.splice(at < 0 ? timers.length : at, 0, timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    advance(ms) {
      const untilMs = monotonicMs + ms;
      for (let next = timers[0]; next && next.atMs <= untilMs; next = timers[0]) {
        timers.shift();
        monotonicMs = next.atMs;
        next.callback();
      }
      monotonicMs = untilMs;
    },
    jump(ms) {
      utcOffsetMs += ms;
    },
  };
}
