import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import type { Mark } from './balance-rows.ts';
import type { BudgetTerms } from './terms.ts';

/** The sums over a rolling budget's window. */
export interface WindowSums {
  posted: NanoUsd;
  /** Sum of all open holds, however old. */
  pending: NanoUsd;
  /** The first minute with spend; null without any. */
  oldest: number | null;
  /** Whether the events of the budget's cap version were emitted in the window, and the highest alert of them. */
  thresholdVersion: boolean;
  exceededVersion: boolean;
  thresholdPercent: number;
}

/** A stored sum, so that a window of thousands of minutes is not added up for each batch. */
interface StoredWindow {
  /** The sum is of the minutes that start after this; null: not summed yet. */
  from: number | null;
  posted: NanoUsd;
}

/** Reads and writes the windows of rolling budgets. */
export interface WindowRows {
  /** Sums over the minutes that start after `from`: the stored sum, corrected by the minutes that it moved by. */
  sum(budget: BudgetTerms, from: number): WindowSums;
  /** Stores what the minutes that start after `from` have posted, in the transaction that changed one of them. */
  write(budgetId: number, from: number, posted: NanoUsd): void;
  /** The highest alert of a cap version in the minutes that start after `from`; 0: its only one, or none. */
  highestAlert(budgetId: number, from: number, version: number): number;
  /** Whether a minute that starts after `from` has the mark of a cap version. */
  isMarked(budgetId: number, from: number, mark: Mark, version: number): boolean;
}

export function createWindowRows(db: Db): WindowRows {
  const select = db.prepare<[number], StoredWindow>(
    'SELECT window_from AS "from", window_posted_nano_usd AS posted FROM budgets WHERE id = ?',
  );
  const update = db.prepare<[number, number, number]>(
    'UPDATE budgets SET window_from = ?, window_posted_nano_usd = ? WHERE id = ?',
  );
  const sumPosted = db
    .prepare<[number, number, number], number>(
      `SELECT coalesce(sum(posted_nano_usd), 0) FROM budget_periods WHERE budget_id = ? AND start > ? AND start <= ?`,
    )
    .pluck();
  const selectOldest = db
    .prepare<[number, number], number>(
      `SELECT start FROM budget_periods WHERE budget_id = ? AND start > ? AND posted_nano_usd > 0
       ORDER BY start LIMIT 1`,
    )
    .pluck();
  const sumPending = db
    .prepare<[number], number>(
      'SELECT coalesce(sum(pending_nano_usd), 0) FROM budget_periods WHERE budget_id = ? AND rolling = 1 AND pending_nano_usd > 0',
    )
    .pluck();
  const selectMark = (column: string) =>
    db.prepare<[number, number, number]>(
      // Without the hint SQLite scans the primary key: every minute of the window.
      `SELECT 1 FROM budget_periods INDEXED BY budget_periods_marked WHERE budget_id = ? AND start > ?
       AND ${column} = ? AND (threshold_version > 0 OR exceeded_version > 0) LIMIT 1`,
    );
  const selectHighest = db
    .prepare<[number, number, number], number | null>(
      `SELECT max(threshold_percent) FROM budget_periods INDEXED BY budget_periods_marked WHERE budget_id = ?
       AND start > ? AND threshold_version = ? AND (threshold_version > 0 OR exceeded_version > 0)`,
    )
    .pluck();
  const highestAlert = (budgetId: number, from: number, version: number) =>
    selectHighest.get(budgetId, from, version) ?? 0;
  const marks = {
    thresholdVersion: selectMark('threshold_version'),
    exceededVersion: selectMark('exceeded_version'),
  };

  const isMarked = (budgetId: number, from: number, mark: Mark, version: number) =>
    marks[mark].get(budgetId, from, version) !== undefined;

  /** What the minutes that start after `from` have posted. `from` may be earlier than that of the stored sum. */
  function postedAfter(budgetId: number, from: number): NanoUsd {
    const between = (after: number, last: number) => sumPosted.get(budgetId, after, last) ?? 0;
    const stored = select.get(budgetId);
    if (!stored || stored.from === null) return between(from, Number.MAX_SAFE_INTEGER);
    if (stored.from <= from) return stored.posted - between(stored.from, from);
    return stored.posted + between(from, stored.from);
  }

  return {
    sum: ({ id, capVersion }, from) => ({
      posted: postedAfter(id, from),
      pending: sumPending.get(id) ?? 0,
      oldest: selectOldest.get(id, from) ?? null,
      thresholdVersion: isMarked(id, from, 'thresholdVersion', capVersion),
      exceededVersion: isMarked(id, from, 'exceededVersion', capVersion),
      thresholdPercent: highestAlert(id, from, capVersion),
    }),
    write: (budgetId, from, posted) => update.run(from, posted, budgetId),
    isMarked,
    highestAlert,
  };
}
