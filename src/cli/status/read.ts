import { projectIds } from '../../store/accounts/projects.ts';
import { listBudgets, type Standing } from '../../store/budgets/budgets.ts';
import { readDistrustedBounds } from '../../store/budgets/distrusted-bounds.ts';
import { type UsageFigures, usageReport } from '../../store/reports/usage-report.ts';
import type { Context } from '../context.ts';
import { type DaemonState, findDaemon } from '../daemon/find.ts';
import { knownProviders } from '../providers/known-providers.ts';
import { settingsAndCalendar } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** State of the daemon, today's usage, budgets and providers. */
export interface Status {
  state: DaemonState;
  today: UsageFigures;
  standings: Standing[];
  providers: string[];
  timezone: string;
  /** Why some providers cannot be used. */
  problems: string[];
  now: number;
}

export async function readStatus(context: Context): Promise<Status> {
  const { settings, calendar } = settingsAndCalendar(context);
  const now = context.clock.now();
  const today = calendar.dateOf(now);
  const state = await findDaemon(context);
  const { report, standings, distrusted } = await withStore(context, async (db) => ({
    report: await usageReport(db, calendar, { from: today, to: today, groupBy: 'day' }),
    standings: await listBudgets(db, projectIds(db), { calendar, now }),
    distrusted: readDistrustedBounds(db, now),
  }));
  const { providers, problems } = knownProviders(context);
  return {
    state,
    today: report.total,
    standings,
    providers: [...providers.keys()],
    timezone: settings.timezone,
    problems: [
      ...problems.map(({ name, message }) => `provider ${name} ${message}`),
      ...distrusted.map(({ provider, model, bound }) => `the ${bound} bound of ${provider}/${model} is off`),
    ],
    now,
  };
}
