import type { Standing } from './budgets.ts';

/** Where a budget is heading if spending continues at the period's average rate. */
export type Forecast =
  /** The cap is reached. */
  | { kind: 'full' }
  /** The cap will be reached at this time, before the period ends. */
  | { kind: 'runs_out'; at: number }
  | { kind: 'lasts' };

/** Forecasts from spend alone: most holds settle for less than they hold. */
export function forecastOf(standing: Standing, now: number): Forecast {
  const { budget, posted, resetsAt } = standing;
  if (isOver(standing)) return { kind: 'full' };
  const elapsed = budget.period === 'rolling' ? (budget.windowMs ?? 0) : now - budget.currentStart;
  if (posted === 0 || elapsed <= 0) return { kind: 'lasts' };
  const at = now + ((budget.capNanoUsd - posted) * elapsed) / posted;
  // At a constant rate, spend leaves a window as fast as it enters.
  return budget.period === 'rolling' || at >= resetsAt ? { kind: 'lasts' } : { kind: 'runs_out', at };
}

export function isOver({ budget, posted }: Standing): boolean {
  return posted >= budget.capNanoUsd;
}

/** The room that new requests have. */
export function leftOf({ budget, posted, pending }: Standing): number {
  return Math.max(0, budget.capNanoUsd - posted - pending);
}
