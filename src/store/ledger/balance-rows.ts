import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import type { BudgetTerms } from './terms.ts';

/** What one budget has spent and holds in one period (in one minute, for a rolling budget). */
export interface BalanceRow {
  start: number;
  posted: NanoUsd;
  pending: NanoUsd;
  /** The cap version whose event was emitted last; 0: none. */
  thresholdVersion: number;
  exceededVersion: number;
}

/** The columns that record which events were emitted. */
export type Mark = 'thresholdVersion' | 'exceededVersion';

/** Reads and writes the rows of budgets and of their balances. */
export interface BalanceRows {
  /** A project's budgets that are not removed. */
  termsOf(projectId: number): BudgetTerms[];
  /** One budget, removed or not. */
  termsById(budgetId: number): BudgetTerms | undefined;
  /** The projects that have budgets. */
  projects(): number[];
  /** Moves a budget to the period that starts at `currentStart`. */
  advance(budgetId: number, currentStart: number): void;
  /** A balance; all zero where there is no row. */
  read(budgetId: number, start: number): BalanceRow;
  write(budgetId: number, row: BalanceRow): void;
}

export function createBalanceRows(db: Db): BalanceRows {
  const terms = `SELECT b.id, b.project_id AS projectId, p.name AS projectName, b.period, b.window_ms AS windowMs,
    b.cap_nano_usd AS capNanoUsd, b.alert_percent AS alertPercent, b.cap_version AS capVersion,
    b.current_start AS currentStart, b.repo, b.scope_kind AS scopeKind,
    b.scope_value AS scopeValue, b.key_id AS keyId FROM budgets b JOIN projects p ON p.id = b.project_id`;
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
  };
}
