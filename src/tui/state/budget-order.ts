import type { BudgetView } from '../../reading/schemas.ts';
import { shareOf } from '../../terminal/budget-words.ts';

/** Sorts by urgency: full budgets, then those that will run out, soonest first, then the fullest. */
export function byUrgency(budgets: readonly BudgetView[]): BudgetView[] {
  return [...budgets].sort((a, b) => urgency(a) - urgency(b) || shareOf(b) - shareOf(a));
}

function urgency({ exceeded, reached_at }: BudgetView): number {
  if (exceeded) return 0;
  return reached_at === null ? Number.MAX_SAFE_INTEGER : Date.parse(reached_at);
}
