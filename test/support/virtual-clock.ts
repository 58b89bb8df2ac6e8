import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time on, runs the timers that fall due in order, and lets what each one woke come to rest. */
  advance(ms: number): Promise<void>;
  /** The same at once, for code under test that waits for nothing but timers. */
  advanceNow(ms: number): void;
  /** Sets the wall clock, as a person or NTP does; durations and timers don't notice. */
  setWallTime(timeMs: number): void;
  /** How many timers are set. */
  readonly timers: number;
  /** Resolves as soon as a timer is set: what is under test has come to its next wait. */
  timerSet(): Promise<void>;
}

interface Timer {
  dueMs: number;
  callback: () => void;
}

/** A clock that stands still until a test moves it; it begins at 2026-01-01 12:00 UTC. */
export function createVirtualClock(startMs = Date.UTC(2026, 0, 1, 12)): VirtualClock {
  let elapsedMs = 0;
  let wallStartMs = startMs;
  const timers = new Set<Timer>();
  const observers: (() => void)[] = [];

  // A Set keeps the order of insertion, so timers due at the same time run first set, first run.
  function nextDue(untilMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.dueMs <= untilMs && (!next || timer.dueMs < next.dueMs)) next = timer;
    }
    return next;
  }

  /** Whether a timer was due. */
  function runNext(untilMs: number): boolean {
    const timer = nextDue(untilMs);
    if (!timer) return false;
    timers.delete(timer);
    elapsedMs = Math.max(elapsedMs, timer.dueMs);
    timer.callback();
    return true;
  }

  return {
    now: () => wallStartMs + elapsedMs,
    monotonic: () => elapsedMs,
    after(delayMs, callback) {
      const timer = { dueMs: elapsedMs + Math.max(0, delayMs), callback };
      timers.add(timer);
      for (const observe of observers.splice(0)) observe();
      return () => void timers.delete(timer);
    },
    async advance(ms) {
      const untilMs = elapsedMs + ms;
      await setImmediate();
      while (runNext(untilMs)) await setImmediate();
      elapsedMs = untilMs;
    },
    advanceNow(ms) {
      const untilMs = elapsedMs + ms;
      while (runNext(untilMs));
      elapsedMs = untilMs;
    },
    setWallTime(timeMs) {
      wallStartMs = timeMs - elapsedMs;
    },
    get timers() {
      return timers.size;
    },
    timerSet: () =>
      new Promise((resolve) => {
        if (timers.size > 0) resolve();
        else observers.push(resolve);
      }),
  };
}
