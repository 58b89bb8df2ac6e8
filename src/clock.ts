/** Time as gw sees it; tests pass a virtual one. */
export interface Clock {
  /** UTC milliseconds. */
  now(): number;
  /** Milliseconds that never go backwards, for durations. */
  monotonic(): number;
  /** Runs `callback` once after `delayMs`; the timer does not keep the process alive. Returns its cancel. */
  after(delayMs: number, callback: () => void): () => void;
}

/** The longest delay that a timer takes; longer ones are for the caller to split. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, callback) {
    // Whole milliseconds: the first timer that has a fraction makes V8 compile all that handles timers anew.
    const timer = setTimeout(callback, Math.min(Math.max(0, Math.ceil(delayMs)), MAX_TIMER_MS));
    timer.unref();
    return () => clearTimeout(timer);
  },
};
