/** The source of time. Tests pass a virtual clock. */
export interface Clock {
  /** UTC milliseconds. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Runs `callback` once after `delayMs` and returns a function that cancels it. Doesn't keep the process alive. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The longest delay of a timer. Longer delays are cut to it. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    // Whole milliseconds, because the first fractional delay makes V8 deoptimise its timer code.
    const timer = setTimeout(callback, Math.min(Math.max(0, Math.ceil(delayMs)), MAX_TIMER_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
