import { listAsks } from '../../store/budgets/asks.ts';
import { createDashboardReader } from '../../store/dashboard/reader.ts';
import { createWatchMark } from '../../store/dashboard/stream-notes.ts';
import { listSessions } from '../../store/reports/sessions.ts';
import { listRunaways } from '../../store/runaways/runaways.ts';
import type { DashboardFeed } from '../reader.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { viewAsk } from './asks.ts';
import { viewBudget } from './budgets.ts';
import { limits } from './limits.ts';
import { viewSession } from './sessions.ts';

const IMPORTED = 20;

import { viewRunaway } from './status.ts';

/** Polls the database, on the connection for it. */
export async function localDashboard({
  calendar,
  ...sources
}: Pick<Sources, 'calendar' | 'db' | 'pollDb' | 'scope'>): Promise<DashboardFeed> {
  const project = projectToRead(sources.db, sources.scope, undefined);
  const db = await sources.pollDb(project);
  const reader = createDashboardReader(db, calendar, project);
  const watch = createWatchMark(db);
  return {
    changed: reader.changed,
    async read(query) {
      watch.mark(query.now);
      const { budgets, ...data } = reader.read(query);
      return {
        ...data,
        runaways: listRunaways(db, { now: query.now }).map(viewRunaway),
        asks: listAsks(db, { now: query.now }).map(viewAsk),
        budgets: budgets.map((each) => viewBudget(each, query.now)),
        imported: listSessions(db, { source: 'imported', since: data.span.start, limit: IMPORTED }).map(
          viewSession,
        ),
        limits: project === undefined ? await limits({ db, now: () => query.now }) : [],
      };
    },
  };
}
