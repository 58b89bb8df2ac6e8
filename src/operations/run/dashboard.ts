import type { Calendar } from '../../calendar.ts';
import { listAsks } from '../../store/budgets/asks.ts';
import { createDashboardReader } from '../../store/dashboard/reader.ts';
import type { Db } from '../../store/database/open.ts';
import type { DashboardFeed } from '../reader.ts';
import { viewAsk } from './asks.ts';
import { viewBudget } from './budgets.ts';

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
        budgets: budgets.map((each) => viewBudget(each, query.now)),
      };
    },
  };
}
