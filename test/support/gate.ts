import type { Clock } from '../../src/clock.ts';

/** Awaited before each step of a script: when it resolves, the step is taken. */
export type Pace = () => Promise<void>;

/** Lets a test decide when a script goes on: each opening lets one step pass. */
export interface Gate {
  pass: Pace;
  open(steps?: number): void;
  openForGood(): void;
  /** Resolves when a script stands before the closed gate: all that was let through is done. */
  reached(): Promise<void>;
}

export function createGate(): Gate {
  let permits = 0;
  const waiting: (() => void)[] = [];
  const observers: (() => void)[] = [];
  function admit() {
    while (permits > 0 && waiting.length > 0) {
      permits--;
      waiting.shift()?.();
    }
  }
  return {
    pass: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        admit();
        if (waiting.length > 0) for (const observe of observers.splice(0)) observe();
      }),
    open(steps = 1) {
      permits += steps;
      admit();
    },
    openForGood() {
      permits = Number.POSITIVE_INFINITY;
      admit();
    },
    reached: () =>
      new Promise((resolve) => {
        if (waiting.length > 0) resolve();
        else observers.push(resolve);
      }),
  };
}

/** A step every `intervalMs` of a clock, a virtual one included. */
export function every(intervalMs: number, clock: Clock): Pace {
  return () => new Promise((resolve) => void clock.after(intervalMs, resolve));
}

export const atOnce: Pace = async () => {};
