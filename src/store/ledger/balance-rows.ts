import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import type { BudgetTerms } from './terms.ts';

/** The spend of one budget in one period (a minute, for rolling budgets). */
export interface BalanceRow {
  start: number;
  posted: NanoUsd;
  pending: NanoUsd;
  /** The cap version for which the event was written last; 0: none. */
  thresholdVersion: number;
  exceededVersion: number;
}

/** The columns that say which events were written. */
export type Mark = 'thresholdVersion' | 'exceededVersion';

/** What a rolling budget's window holds. */
export interface WindowSums {
  posted: NanoUsd;
  /** Of open holds, however old. */
  pending: NanoUsd;
  /** The first minute with spend; null without any. */
  oldest: number | null;
  /** Whether the events of the budget's cap version were written in it. */
  thresholdVersion: boolean;
  exceededVersion: boolean;
}

/** A sum that is stored, so that a window of thousands of minutes is not added up for each batch. */
interface StoredWindow {
  /** It is of the minutes that start after this; null: not summed yet. */
  from: number | null;
  posted: NanoUsd;
}

/** The rows of budgets and their balances. */
export interface BalanceRows {
  /** A project's budgets but removed ones. */
  termsOf(projectId: number): BudgetTerms[];
  /** One budget, removed or not. */
  termsById(budgetId: number): BudgetTerms | undefined;
  /** The projects that have budgets. */
  projects(): number[];
  advance(budgetId: number, currentStart: number): void;
  /** A balance; all zero where there is no row. */
  read(budgetId: number, start: number): BalanceRow;
  write(budgetId: number, row: BalanceRow): void;
  /** Sums over the minutes that start after `from`: what was stored last, but for the minutes by which it moved on. */
  sum(budget: BudgetTerms, from: number): WindowSums;
  /** Stores what the minutes that start after `from` have posted, in the transaction that changed one of them. */
  writeWindow(budgetId: number, from: number, posted: NanoUsd): void;
  /** Whether a minute after `from` has the mark of a cap version. */
  isMarked(budgetId: number, from: number, mark: Mark, version: number): boolean;
}

export function createBalanceRows(db: Db): BalanceRows {
  const terms = `SELECT b.id, b.project_id AS projectId, p.name AS projectName, b.period, b.window_ms AS windowMs,
    b.cap_nano_usd AS capNanoUsd, b.alert_percent AS alertPercent, b.cap_version AS capVersion,
    b.current_start AS currentStart, b.repo FROM budgets b JOIN projects p ON p.id = b.project_id`;
  const selectProject = db.prepare<[number], BudgetTerms>(
    `${terms} WHERE b.project_id = ? AND b.removed_at IS NULL`,
  );
  const selectBudget = db.prepare<[number], BudgetTerms>(`${terms} WHERE b.id = ?`);
  const selectProjects = db
    .prepare<[], number>('SELECT DISTINCT project_id FROM budgets WHERE removed_at IS NULL')
    .pluck();
  const selectBalance = db.prepare<[number, number], BalanceRow>(
    `SELECT start, posted_nano_usd AS posted, pending_nano_usd AS pending, threshold_version AS thresholdVersion,
     exceeded_version AS exceededVersion FROM budget_periods WHERE budget_id = ? AND start = ?`,
  );
  const selectWindow = db.prepare<[number], StoredWindow>(
    'SELECT window_from AS "from", window_posted_nano_usd AS posted FROM budgets WHERE id = ?',
  );
  const updateWindow = db.prepare<[number, number, number]>(
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
      'SELECT coalesce(sum(pending_nano_usd), 0) FROM budget_periods WHERE budget_id = ? AND pending_nano_usd > 0',
    )
    .pluck();
  const selectMark = (column: string) =>
    db.prepare<[number, number, number]>(
      // Left to choose, SQLite walks through the primary key: all the minutes of the window.
      `SELECT 1 FROM budget_periods INDEXED BY budget_periods_marked WHERE budget_id = ? AND start > ?
       AND ${column} = ? AND (threshold_version > 0 OR exceeded_version > 0) LIMIT 1`,
    );
  const marked = {
    thresholdVersion: selectMark('threshold_version'),
    exceededVersion: selectMark('exceeded_version'),
  };
  const upsert = db.prepare(
    `INSERT INTO budget_periods (budget_id, start, posted_nano_usd, pending_nano_usd, threshold_version, exceeded_version)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET posted_nano_usd = excluded.posted_nano_usd,
     pending_nano_usd = excluded.pending_nano_usd, threshold_version = excluded.threshold_version,
     exceeded_version = excluded.exceeded_version`,
  );
  const advance = db.prepare<[number, number]>('UPDATE budgets SET current_start = ? WHERE id = ?');

  const isMarked = (budgetId: number, from: number, mark: Mark, version: number) =>
    marked[mark].get(budgetId, from, version) !== undefined;

  /** Posted by the minutes that start after `from`. The clock may have moved back, or the window grown. */
  function postedAfter(budgetId: number, from: number): NanoUsd {
    const between = (after: number, last: number) => sumPosted.get(budgetId, after, last) ?? 0;
    const stored = selectWindow.get(budgetId);
    if (!stored || stored.from === null) return between(from, Number.MAX_SAFE_INTEGER);
    if (stored.from <= from) return stored.posted - between(stored.from, from);
    return stored.posted + between(from, stored.from);
  }

  return {
    termsOf: (projectId) => selectProject.all(projectId),
    termsById: (budgetId) => selectBudget.get(budgetId),
    projects: () => selectProjects.all(),
    advance: (budgetId, currentStart) => advance.run(currentStart, budgetId),
    read: (budgetId, start) =>
      selectBalance.get(budgetId, start) ?? {
        start,
        posted: 0,
        pending: 0,
        thresholdVersion: 0,
        exceededVersion: 0,
      },
    write: (budgetId, row) =>
      upsert.run(budgetId, row.start, row.posted, row.pending, row.thresholdVersion, row.exceededVersion),
    sum: ({ id, capVersion }, from) => ({
      posted: postedAfter(id, from),
      pending: sumPending.get(id) ?? 0,
      oldest: selectOldest.get(id, from) ?? null,
      thresholdVersion: isMarked(id, from, 'thresholdVersion', capVersion),
      exceededVersion: isMarked(id, from, 'exceededVersion', capVersion),
    }),
    writeWindow: (budgetId, from, posted) => updateWindow.run(from, posted, budgetId),
    isMarked,
  };
}
