import { addDays } from '../calendar.ts';
import type { Reader, RequestConditions } from '../reading/reader.ts';
import type { BudgetView, RequestView, UsageViewRow } from '../reading/schemas.ts';

const REQUESTS = 200;

/** Reads the sessions that spent a budget in its period, and their requests. */
export function budgetDrill(reader: Reader, now: () => number) {
  async function daysOf({ period, window_seconds: seconds }: BudgetView) {
    const calendar = await reader.calendar();
    const today = calendar.dateOf(now());
    if (period === 'daily') return { from: today, to: today };
    if (period === 'weekly') return { from: calendar.dateOf(calendar.week(now()).start), to: today };
    if (period === 'monthly') return { from: `${today.slice(0, 7)}-01`, to: today };
    if (period === 'rolling') return { from: calendar.dateOf(now() - (seconds ?? 0) * 1_000), to: today };
    return { from: addDays(today, -365), to: today };
  }
  return {
    async sessionsOf(budget: BudgetView): Promise<UsageViewRow[]> {
      const days = await daysOf(budget);
      return (await reader.usage({ ...conditionsOf(budget), ...days, groupBy: 'session' })).data;
    },
    requestsOf: (budget: BudgetView, session: string): Promise<RequestView[]> =>
      reader.requests({ ...conditionsOf(budget), session, limit: REQUESTS }),
  };
}

/**
 * Selects a budget's requests at this gateway. A run's requests are found by its key, which is labelled with the run's
 * id.
 */
function conditionsOf({ project_id: project, scope, team }: BudgetView): RequestConditions {
  if (team) return project === '' ? {} : { project };
  if (scope === null || scope.value === null) return { project };
  return { project, [scope.kind === 'run' ? 'key' : scope.kind]: scope.value };
}
