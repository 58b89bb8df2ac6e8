import { deadRuns, endRun } from '../store/budgets/runs.ts';
import type { Db } from '../store/database/open.ts';
import type { Ledger } from '../store/ledger/ledger.ts';

interface EndDeadRunsOptions {
  db: Db;
  ledger: Pick<Ledger, 'write'>;
  now: () => number;
  /** Called for each run that was ended. */
  onEnded: (runId: string) => void;
}

/** Revokes the keys and removes the budgets of runs whose `gw run` was killed. */
export async function endDeadRuns({ db, ledger, now, onEnded }: EndDeadRunsOptions): Promise<void> {
  for (const runId of deadRuns(db)) {
    await ledger.write(() => endRun(db, runId, now()));
    onEnded(runId);
  }
}
