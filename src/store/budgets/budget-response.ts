import { usdFields, usdNumber } from '../../money.ts';
import {
  capOf,
  isoTime,
  leftOf,
  type Standing,
  spentOf,
  teamFigures,
  unspentOf,
} from '../ledger/standing.ts';
import { alertsOf, budgetName, thresholdOf } from '../ledger/terms.ts';

/**
 * A budget as `gw budget list --json` returns it; `GET /v1/budgets` leaves out the amounts in integer nano-USD and the
 * command line's former field names.
 */
export function budgetResponse(standing: Standing, now: number): Record<string, unknown> {
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
      unreachable_since: isoTime(team.unreachableSince),
    }),
    resets_at: isoTime(resetsAt),
    on_limit: budget.onLimit,
    fallback: budget.fallback === '' ? null : budget.fallback.split(','),
    fallback_percent: budget.fallbackPercent,
    runaway: budget.runaway,
    raised_usd: usdNumber(budget.raisedNanoUsd),
    raised_until: isoTime(budget.raisedUntil),
    exceeded: isOver(standing),
    reached_at: forecast.kind === 'runs_out' ? new Date(forecast.at).toISOString() : null,
    cap_nano_usd: cap,
    spent_nano_usd: spent,
    held_nano_usd: pending,
    left_nano_usd: left,
    budget_id: budgetName(budget),
    ...usdFields('remaining', left),
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

/** Where a budget is heading if spending continues at the period's average rate. */
type Forecast =
  /** The cap is reached. */
  | { kind: 'full' }
  /** The cap will be reached at this time, before the period ends. */
  | { kind: 'runs_out'; at: number }
  | { kind: 'lasts' };

/** Forecasts from spend alone: most holds settle for less than they hold. */
function forecastOf(standing: Standing, now: number): Forecast {
  const { budget, resetsAt } = standing;
  const spent = spentOf(standing);
  if (isOver(standing)) return { kind: 'full' };
  const elapsed = budget.period === 'rolling' ? (budget.windowMs ?? 0) : now - budget.currentStart;
  if (spent === 0 || elapsed <= 0) return { kind: 'lasts' };
  const at = now + ((capOf(standing) - spent) * elapsed) / spent;
  // At a constant rate, spend leaves a window as fast as it enters.
  return budget.period === 'rolling' || at >= resetsAt ? { kind: 'lasts' } : { kind: 'runs_out', at };
}

const isOver = (standing: Standing): boolean => unspentOf(standing) <= 0;
