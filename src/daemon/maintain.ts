import type { Clock } from '../clock.ts';

export interface MaintenanceOptions {
  clock: Clock;
  /** Each does a few milliseconds of its work, and tells whether there is more. */
  steps: readonly (() => Promise<boolean>)[];
  onError: (error: unknown) => void;
}

const EVERY_MS = 60_000;
/** Between two steps: what a step keeps requests waiting for is lost among them. */
const PAUSE_MS = 50;

/**
 * Does the housekeeping once a minute, step by step, until it is stopped. `stop` resolves when nothing runs any more.
 * Several daemons on a database may do it at once: a step looks for what there is to do in the transaction that does it.
 */
export function startMaintenance({ clock, steps, onError }: MaintenanceOptions): () => Promise<void> {
  let stopped = false;
  let wake = () => {};

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      if (stopped) return resolve();
      const cancel = clock.after(ms, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });

  async function run(): Promise<void> {
    for (const step of steps) {
      while (!stopped && (await step())) await pause(PAUSE_MS);
    }
  }

  async function loop(): Promise<void> {
    while (!stopped) {
      await pause(EVERY_MS);
      // A full disk or a lock: the next minute tries again.
      await run().catch(onError);
    }
  }

  const ended = loop();
  return () => {
    stopped = true;
    wake();
    return ended;
  };
}
