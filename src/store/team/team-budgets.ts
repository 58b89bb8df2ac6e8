import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';

/** A budget as the team's admin has set it. */
export interface TeamBudget {
  /** The team's id of it. */
  id: number;
  /** '': the whole team. */
  project: string;
  period: 'daily' | 'monthly';
  capNanoUsd: NanoUsd;
  /** Ascending. */
  alertPercents: number[];
  /** The running period by the team's clock, UTC ms, and how it stands. */
  start: number;
  ends: number;
  /** Sum of all gateways' limits and reserves. */
  allocatedNanoUsd: NanoUsd;
  spentNanoUsd: NanoUsd;
}

/**
 * Makes the local budgets those of the team. A new one has no money yet: its cap here is what the authority grants. One
 * that the team has removed counts no more requests, and its spend is reported to the end. Runs within a transaction.
 */
export function applyTeamBudgets(
  db: Db,
  budgets: readonly TeamBudget[],
  { now, version }: { now: number; version: number },
): void {
  const remove = db.prepare(`UPDATE budgets SET removed_at = coalesce(removed_at, @now)
    WHERE team_budget_id IS NOT NULL AND team_budget_id NOT IN (SELECT value FROM json_each(@ids))`);
  const upsert = db
    .prepare<[Record<string, number | string>], number>(`
      INSERT INTO budgets (project_id, period, cap_nano_usd, alert_percent, alert_percents, cap_version, current_start, created_at,
      scope_kind, scope_value, team_budget_id)
      SELECT min(id), @period, 0, @alertPercent, @alertPercents, 1, 0, @now, 'team', @project, @id FROM projects
      WHERE removed_at IS NULL
      ON CONFLICT (team_budget_id) WHERE team_budget_id IS NOT NULL
      DO UPDATE SET alert_percent = excluded.alert_percent, alert_percents = excluded.alert_percents, removed_at = NULL RETURNING id`)
    .pluck();
  const setStanding = db.prepare(`
    INSERT INTO team_standings (budget_id, cap_nano_usd, start, ends, unspent_nano_usd, left_nano_usd)
    VALUES (@budgetId, @cap, @start, @ends, @cap - @spent, @cap - @allocated) ON CONFLICT DO UPDATE SET
    cap_nano_usd = excluded.cap_nano_usd, unspent_nano_usd = excluded.unspent_nano_usd,
    left_nano_usd = excluded.left_nano_usd, start = excluded.start, ends = excluded.ends`);
  remove.run({ now, ids: JSON.stringify(budgets.map(({ id }) => id)) });
  for (const { id, project, period, ...budget } of budgets) {
    const {
      alertPercents: percents,
      capNanoUsd: cap,
      allocatedNanoUsd: allocated,
      spentNanoUsd: spent,
    } = budget;
    const alertPercents = percents.length > 1 ? JSON.stringify(percents) : '';
    const budgetId = upsert.get({ id, project, period, alertPercent: percents[0] ?? 80, alertPercents, now });
    if (budgetId === undefined) throw new Error(`team budget ${id} could not be added`);
    setStanding.run({ budgetId, cap, spent, allocated, start: budget.start, ends: budget.ends });
  }
  db.prepare('UPDATE team_membership SET config_version = ?').run(version);
}
