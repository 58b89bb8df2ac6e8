import type { Standing } from '../../store/budgets/budgets.ts';
import { forecastOf } from '../../store/budgets/forecast.ts';
import { shareOf } from '../../terminal/budget-words.ts';

/** Sorts by urgency: full budgets, then those that will run out, soonest first, then the fullest. */
export function byUrgency(standings: readonly Standing[], now: number): Standing[] {
  return [...standings].sort((a, b) => urgency(a, now) - urgency(b, now) || shareOf(b) - shareOf(a));
}

function urgency(standing: Standing, now: number): number {
  const forecast = forecastOf(standing, now);
  switch (forecast.kind) {
    case 'full':
      return 0;
    case 'runs_out':
      return forecast.at;
    case 'lasts':
      return Number.MAX_SAFE_INTEGER;
  }
}
