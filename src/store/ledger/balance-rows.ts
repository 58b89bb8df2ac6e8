import type { NanoUsd } from '../../money.ts';
import type { Db } from '../open.ts';
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
  /** Sums over the minutes that start after `from`. SQLite adds them up: a window can have thousands. */
  sum(budget: BudgetTerms, from: number): WindowSums;
  /** Whether a minute after `from` has the mark of a cap version. */
  isMarked(budgetId: number, from: number, mark: Mark, version: number): boolean;
}

export function createBalanceRows(db: Db): BalanceRows {
  const terms = `SELECT b.id, b.project_id AS projectId, p.name AS projectName, b.period, b.window_ms AS windowMs,
    b.cap_nano_usd AS capNanoUsd, b.alert_percent AS alertPercent, b.cap_version AS capVersion,
    b.current_start AS currentStart FROM budgets b JOIN projects p ON p.id = b.project_id`;
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
  const sumPosted = db.prepare<[number, number, number, number], Omit<WindowSums, 'pending'>>(
    `SELECT coalesce(sum(posted_nano_usd), 0) AS posted, min(CASE WHEN posted_nano_usd > 0 THEN start END) AS oldest,
     coalesce(max(threshold_version = ?), 0) AS thresholdVersion, coalesce(max(exceeded_version = ?), 0) AS exceededVersion
     FROM budget_periods WHERE budget_id = ? AND start > ?`,
  );
  const sumPending = db
    .prepare<[number], number>(
      'SELECT coalesce(sum(pending_nano_usd), 0) FROM budget_periods WHERE budget_id = ? AND pending_nano_usd > 0',
    )
    .pluck();
  const selectMark = (column: string) =>
    db.prepare<[number, number, number]>(
      `SELECT 1 FROM budget_periods WHERE budget_id = ? AND start > ? AND ${column} = ? LIMIT 1`,
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
    sum({ id, capVersion }, from) {
      const sums = sumPosted.get(capVersion, capVersion, id, from);
      return {
        posted: sums?.posted ?? 0,
        pending: sumPending.get(id) ?? 0,
        oldest: sums?.oldest ?? null,
        thresholdVersion: Boolean(sums?.thresholdVersion),
        exceededVersion: Boolean(sums?.exceededVersion),
      };
    },
    isMarked: (budgetId, from, mark, version) => marked[mark].get(budgetId, from, version) !== undefined,
  };
}
