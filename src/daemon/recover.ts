import { deadDaemons, orphanedSlots, unregisterDaemon } from '../store/database/daemons.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';

export interface RecoveryOptions {
  db: Db;
  ledger: Pick<Ledger, 'closeHolds'>;
  /** This daemon, which is not to be taken for dead. */
  own: { instanceId: string; lockPath: string };
  /** Called for each dead daemon whose holds were closed. */
  onClosed: (closed: { slot: number; holds: number }) => void;
}

/**
 * Closes the holds of daemons that died. Their requests may have been billed, so each is posted at the held amount
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
