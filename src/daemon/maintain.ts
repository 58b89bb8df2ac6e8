import type { Clock } from '../clock.ts';

/** Does a few milliseconds of its work; resolves with whether there is more. */
export type MaintenanceStep = () => Promise<boolean>;

export interface MaintenanceOptions {
  clock: Clock;
  steps: readonly MaintenanceStep[];
  onError: (error: unknown) => void;
}

const EVERY_MS = 60_000;
/** The pause between two steps lets waiting requests run, so that the delay by a step does not add up. */
const PAUSE_MS = 50;

/**
 * Runs the steps once a minute, one after the other, until stopped. The returned function stops them; it resolves when
 * nothing runs any more. Several daemons on one database may do this at once: a step looks for its work in the same
 * transaction that does it.
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
      // After a full disk or a lock, the next minute tries again.
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
