import type { Clock } from '../../clock.ts';
import { GwError } from '../../errors.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import type { RequestRecord } from '../../store/ledger/record.ts';
import type { SettleResult } from '../../store/ledger/settlement.ts';

/** Settles requests, and retries settlements that fail because the database can't be written. */
export interface SettleRetry {
  /** The ledger's `settle`. If the storage fails it rejects, and the settlement is retried later. */
  settle(record: RequestRecord): Promise<SettleResult>;
  /** Retries the failed settlements now; returns how many are left. */
  retry(): Promise<number>;
}

const RETRY_MS = 1_000;

export function createSettleRetry(ledger: Pick<Ledger, 'settle'>, clock: Clock): SettleRetry {
  let unsettled: RequestRecord[] = [];
  let scheduled = false;

  function schedule(): void {
    if (scheduled || unsettled.length === 0) return;
    scheduled = true;
    clock.after(RETRY_MS, () => {
      scheduled = false;
      void retry();
    });
  }

  async function retry(): Promise<number> {
    const records = unsettled;
    unsettled = [];
    const results = await Promise.allSettled(records.map((record) => ledger.settle(record)));
    unsettled.push(...records.filter((_, i) => results[i]?.status === 'rejected'));
    schedule();
    return unsettled.length;
  }

  return {
    settle(record) {
      return ledger.settle(record).catch((error: unknown) => {
        if (error instanceof GwError && error.code === 'storage_unavailable') {
          unsettled.push(record);
          schedule();
        }
        throw error;
      });
    },
    retry,
  };
}
