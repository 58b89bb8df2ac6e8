import type { Clock } from '../../clock.ts';
import { GwError } from '../../errors.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import type { RequestRecord } from '../../store/ledger/record.ts';
import type { SettleResult } from '../../store/ledger/settlement.ts';

/** Settles requests, and does not give up on a cost that is due when the database can't be written. */
export interface SettleRetry {
  /** As the ledger's `settle`. Where it fails for want of storage it still rejects, and is tried again later. */
  settle(record: RequestRecord): Promise<SettleResult>;
  /** Tries once more what could not be settled; returns how many are left. */
  retry(): Promise<number>;
}

const RETRY_MS = 1_000;

export function createSettleRetry(ledger: Pick<Ledger, 'settle'>, clock: Clock): SettleRetry {
  let due: RequestRecord[] = [];
  let scheduled = false;

  function schedule(): void {
    if (scheduled || due.length === 0) return;
    scheduled = true;
    clock.after(RETRY_MS, () => {
      scheduled = false;
      void retry();
    });
  }

  async function retry(): Promise<number> {
    const records = due;
    due = [];
    const results = await Promise.allSettled(records.map((record) => ledger.settle(record)));
    due.push(...records.filter((_, i) => results[i]?.status === 'rejected'));
    schedule();
    return due.length;
  }

  return {
    settle(record) {
      return ledger.settle(record).catch((error: unknown) => {
        if (error instanceof GwError && error.code === 'storage_unavailable') {
          due.push(record);
          schedule();
        }
        throw error;
      });
    },
    retry,
  };
}
