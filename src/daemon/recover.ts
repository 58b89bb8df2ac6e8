import type { Clock } from '../clock.ts';
import { deadDaemons, orphanedSlots, unregisterDaemon } from '../store/database/daemons.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';

export interface RecoveryOptions {
  db: Db;
  ledger: Ledger;
  own: { instanceId: string; lockPath: string };
  /** Told how many holds of which dead daemon were closed. */
  onClosed: (closed: { slot: number; holds: number }) => void;
}

/**
 * Closes the holds of daemons that died: what was sent may have been billed, so each is posted at the held amount
 * and flagged as estimated.
 */
export async function recover({ db, ledger, own, onClosed }: RecoveryOptions): Promise<void> {
  const close = async (slot: number, instanceId?: string) => {
    const holds = await ledger.closeHolds(slot, instanceId);
    if (holds > 0) onClosed({ slot, holds });
  };
  for (const { slot, instanceId } of deadDaemons(db, own)) {
    await close(slot, instanceId);
    unregisterDaemon(db, instanceId);
  }
  for (const slot of orphanedSlots(db)) await close(slot);
}

const SWEEP_EVERY_MS = 5_000;

/** Does a job now and then until it is stopped; the next run waits for the one before. */
export function repeat(clock: Clock, job: () => Promise<void>, everyMs = SWEEP_EVERY_MS): () => void {
  let stopped = false;
  let cancel = () => {};
  const schedule = () => {
    if (stopped) return;
    cancel = clock.after(everyMs, () => {
      void job().finally(schedule);
    });
  };
  schedule();
  return () => {
    stopped = true;
    cancel();
  };
}
