import { capOf, type Standing, spentOf, unspentOf } from '../ledger/standing.ts';

export { leftOf } from '../ledger/standing.ts';

/** Where a budget is heading if spending continues at the period's average rate. */
export type Forecast =
  /** The cap is reached. */
  | { kind: 'full' }
  /** The cap will be reached at this time, before the period ends. */
  | { kind: 'runs_out'; at: number }
  | { kind: 'lasts' };

/** Forecasts from spend alone: most holds settle for less than they hold. */
export function forecastOf(standing: Standing, now: number): Forecast {
  const { budget, resetsAt } = standing;
  const spent = spentOf(standing);
  if (isOver(standing)) return { kind: 'full' };
  const elapsed = budget.period === 'rolling' ? (budget.windowMs ?? 0) : now - budget.currentStart;
  if (spent === 0 || elapsed <= 0) return { kind: 'lasts' };
  const at = now + ((capOf(standing) - spent) * elapsed) / spent;
  // At a constant rate, spend leaves a window as fast as it enters.
  return budget.period === 'rolling' || at >= resetsAt ? { kind: 'lasts' } : { kind: 'runs_out', at };
}

export function isOver(standing: Standing): boolean {
  return unspentOf(standing) <= 0;
}
