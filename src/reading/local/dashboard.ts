import type { Calendar } from '../../calendar.ts';
import { listAsks } from '../../store/budgets/asks.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import { createDashboardReader } from '../../store/dashboard/reader.ts';
import type { Db } from '../../store/database/open.ts';
import { viewAsk } from '../ask-view.ts';
import type { DashboardFeed } from '../reader.ts';
import type { BudgetView } from '../schemas.ts';

/** Polls the database. `db` must be a connection that writes nothing itself; it may be read-only. */
export function localDashboard(db: Db, calendar: Calendar): DashboardFeed {
  const reader = createDashboardReader(db, calendar);
  return {
    changed: reader.changed,
    async read(query) {
      const { budgets, ...data } = reader.read(query);
      return {
        ...data,
        asks: listAsks(db, { now: query.now }).map(viewAsk),
        // The schema's test validates the fields.
        budgets: budgets.map((each) => budgetResponse(each, query.now, { nano: true }) as BudgetView),
      };
    },
  };
}
