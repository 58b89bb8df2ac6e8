import type { Calendar, Span } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';

export type BudgetPeriod = 'daily' | 'monthly' | 'rolling';

/** A budget as the ledger needs it. */
export interface BudgetTerms {
  id: number;
  projectId: number;
  projectName: string;
  period: BudgetPeriod;
  windowMs: number | null;
  capNanoUsd: NanoUsd;
  alertPercent: number;
  capVersion: number;
  currentStart: number;
}

/** The running period of a daily or monthly budget. */
export function spanOf(period: BudgetPeriod, timeMs: number, calendar: Calendar): Span {
  return period === 'monthly' ? calendar.month(timeMs) : calendar.day(timeMs);
}

/** How many periods end between a budget's period and the one that starts at `until`. */
export function boundariesBetween(budget: BudgetTerms, until: number, calendar: Calendar): number {
  let count = 0;
  // Stepping by whole periods; a budget that slept for years still ends within a few thousand steps.
  for (let start = budget.currentStart; start < until; count++)
    start = spanOf(budget.period, start, calendar).end;
  return count;
}

/** The spend at which a budget's alert goes out. */
export function thresholdOf(budget: Pick<BudgetTerms, 'capNanoUsd' | 'alertPercent'>): NanoUsd {
  // In two parts: cap times percent is past what a number holds exactly from $90,000 on.
  const { capNanoUsd: cap, alertPercent } = budget;
  return Math.floor(cap / 100) * alertPercent + Math.ceil(((cap % 100) * alertPercent) / 100);
}

/** A budget's public id: `web/daily`. */
export function budgetName(budget: Pick<BudgetTerms, 'projectName' | 'period'>): string {
  return `${budget.projectName}/${budget.period}`;
}
