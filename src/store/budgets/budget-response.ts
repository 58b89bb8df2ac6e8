import { usdNumber } from '../../money.ts';
import { isoTime } from '../ledger/standing.ts';
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
  const { budget, posted, pending, resetsAt } = standing;
  const forecast = forecastOf(standing, now);
  const left = leftOf(standing);
  return {
    object: 'budget',
    id: budgetName(budget),
    project_id: budget.projectName,
    period: budget.period,
    repo: budget.repo || null,
    scope: scopeOf(budget),
    ...(budget.scopeKind === 'each' ? { fullest: standing.fullest ?? null } : {}),
    window_seconds: budget.windowMs === null ? null : budget.windowMs / 1000,
    cap_usd: usdNumber(budget.capNanoUsd),
    alert_percent: budget.alertPercent,
    alert_percents: alertsOf(budget),
    alert_usd: usdNumber(thresholdOf(budget)),
    spent_usd: usdNumber(posted),
    held_usd: usdNumber(pending),
    left_usd: usdNumber(left),
    resets_at: isoTime(resetsAt),
    raised_usd: usdNumber(budget.raisedNanoUsd),
    raised_until: isoTime(budget.raisedUntil ?? Number.POSITIVE_INFINITY),
    exceeded: isOver(standing),
    reached_at: forecast.kind === 'runs_out' ? new Date(forecast.at).toISOString() : null,
    ...(nano && {
      cap_nano_usd: budget.capNanoUsd,
      spent_nano_usd: posted,
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
  return scopeKind === '' ? null : { kind: scopeKind, value: scopeValue };
}
