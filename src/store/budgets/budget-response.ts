import { usdNumber } from '../../money.ts';
import { capOf, isoTime, spentOf, teamFigures } from '../ledger/standing.ts';
import { alertsOf } from '../ledger/terms.ts';
import { budgetName, type Standing, thresholdOf } from './budgets.ts';
import { forecastOf, isOver, leftOf } from './forecast.ts';

/**
 * A budget as `GET /v1/budgets` and `gw budget list --json` return it. `nano` adds the amounts in integer nano-USD and
 * the command line's former field names.
 */
export function budgetResponse(
  standing: Standing,
  now: number,
  { nano = false } = {},
): Record<string, unknown> {
  const { pending, resetsAt, team } = standing;
  const cap = capOf(standing);
  const spent = spentOf(standing);
  const budget = { ...standing.budget, capNanoUsd: cap };
  const forecast = forecastOf(standing, now);
  const left = leftOf(standing);
  return {
    object: 'budget',
    id: budgetName(budget),
    // '': the whole team.
    project_id: team ? budget.scopeValue : budget.projectName,
    period: budget.period,
    repo: budget.repo || null,
    scope: scopeOf(budget),
    ...(budget.scopeKind === 'each' ? { fullest: standing.fullest ?? null } : {}),
    window_seconds: budget.windowMs === null ? null : budget.windowMs / 1000,
    cap_usd: usdNumber(cap),
    alert_percent: budget.alertPercent,
    alert_percents: alertsOf(budget),
    alert_usd: usdNumber(thresholdOf(budget)),
    spent_usd: usdNumber(spent),
    held_usd: usdNumber(pending),
    left_usd: usdNumber(left),
    ...(team && {
      ...teamFigures(standing),
      unreachable_since: isoTime(team.unreachableSince ?? Number.POSITIVE_INFINITY),
    }),
    resets_at: isoTime(resetsAt),
    on_limit: budget.onLimit,
    raised_usd: usdNumber(budget.raisedNanoUsd),
    raised_until: isoTime(budget.raisedUntil ?? Number.POSITIVE_INFINITY),
    exceeded: isOver(standing),
    reached_at: forecast.kind === 'runs_out' ? new Date(forecast.at).toISOString() : null,
    ...(nano && {
      cap_nano_usd: cap,
      spent_nano_usd: spent,
      held_nano_usd: pending,
      left_nano_usd: left,
      budget_id: budgetName(budget),
      remaining_usd: usdNumber(left),
      remaining_nano_usd: left,
    }),
  };
}

function scopeOf({
  repo,
  scopeKind,
  scopeValue,
}: Standing['budget']): { kind: string; value: string | null } | null {
  if (repo !== '') return { kind: 'repo', value: repo };
  if (scopeKind === 'each') return { kind: scopeValue, value: null };
  return scopeKind === '' || scopeKind === 'team' ? null : { kind: scopeKind, value: scopeValue };
}
