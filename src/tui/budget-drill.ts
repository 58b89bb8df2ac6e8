import { addDays } from '../calendar.ts';
import type { Reader } from '../operations/registry.ts';
import type { BudgetView } from '../operations/schemas/budgets.ts';
import type { RequestConditions, RequestView } from '../operations/schemas/requests.ts';
import type { UsageViewRow } from '../operations/schemas/usage.ts';

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
      return (await reader.usage({ ...conditionsOf(budget), ...days, group_by: 'session' })).data;
    },
    requestsOf: (budget: BudgetView, session: string): Promise<RequestView[]> =>
      reader.requests({ ...conditionsOf(budget), session, limit: REQUESTS }),
  };
}

/** The requests that a budget counts here. A run's have its key, which is labelled with its id. */
function conditionsOf({ project_id, scope, team }: BudgetView): RequestConditions {
  if (team) return project_id === '' ? {} : { project_id };
  if (scope === null || scope.value === null) return { project_id };
  return { project_id, [scope.kind === 'run' ? 'key' : scope.kind]: scope.value };
}
