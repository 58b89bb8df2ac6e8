import type { Standing } from './budgets.ts';

/** Where a budget is heading if spending goes on at the period's pace so far. */
export type Forecast =
  | { kind: 'full' }
  /** The cap is reached at this time, before the period ends. */
  | { kind: 'runs_out'; at: number }
  | { kind: 'lasts' };

/** Reckons with what is spent, not with what is held: most holds are settled for less. */
export function forecastOf(standing: Standing, now: number): Forecast {
  const { budget, posted, resetsAt } = standing;
  if (isOver(standing)) return { kind: 'full' };
  const elapsed = budget.period === 'rolling' ? (budget.windowMs ?? 0) : now - budget.currentStart;
  if (posted === 0 || elapsed <= 0) return { kind: 'lasts' };
  const at = now + ((budget.capNanoUsd - posted) * elapsed) / posted;
  // A window forgets as fast as it fills at a constant pace.
  return budget.period === 'rolling' || at >= resetsAt ? { kind: 'lasts' } : { kind: 'runs_out', at };
}

export function isOver({ budget, posted }: Standing): boolean {
  return posted >= budget.capNanoUsd;
}

/** What new requests may take. */
export function leftOf({ budget, posted, pending }: Standing): number {
  return Math.max(0, budget.capNanoUsd - posted - pending);
}
