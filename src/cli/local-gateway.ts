import { createCalendar } from '../calendar.ts';
import { readSecrets, TEAM_URL } from '../config/secrets.ts';
import { localReader } from '../operations/local.ts';
import type { Reader } from '../operations/registry.ts';
import type { Sources } from '../operations/sources.ts';
import { DEFAULT_PROJECT, findProject } from '../store/accounts/projects.ts';
import { type Db, openDatabase } from '../store/database/open.ts';
import { noTeam, readMembership } from '../store/team/membership.ts';
import type { Context } from './context.ts';
import { readSettings } from './settings.ts';
import { withStore } from './with-store.ts';

/** Runs `work` on this machine's database, whether or not gw runs. */
export function withLocalGateway<T>(
  context: Context,
  work: (gateway: Reader, db: Db) => Promise<T>,
): Promise<T> {
  return withStore(context, async (db) => {
    const polled: Db[] = [];
    try {
      return await work(accessTo(context, db, polled), db);
    } finally {
      for (const each of polled) each.close();
    }
  });
}

/** The team's database, as an admin that GW_TEAM_URL names or as this gateway. Throws GwError 409 without a team. */
function teamUrl({ env, paths }: Context, db: Db): string {
  if (env.GW_TEAM_URL) return env.GW_TEAM_URL;
  if (!readMembership(db)) throw noTeam();
  return readSecrets(paths.credentials)[TEAM_URL] ?? '';
}

/** `polled` gets the connections to close. Modules load when they are first needed. */
function accessTo(context: Context, db: Db, polled: Db[]): Reader {
  const { settings } = readSettings(context);
  const calendar = createCalendar(settings.timezone);
  const now = () => context.clock.now();
  const scope = { project: DEFAULT_PROJECT, projectId: findProject(db, DEFAULT_PROJECT), admin: true };
  const { bodies, replays } = context.paths;
  const sources: Sources = {
    db,
    bodies,
    replays,
    home: context.paths.home,
    // A running daemon notices the change before its next request.
    change: (work) => work(),
    scope,
    calendar,
    now,
    settings: () => settings,
    async pollDb() {
      const own = await openDatabase(context.paths.database, { readonly: true });
      polled.push(own);
      return own;
    },
    async registry() {
      const { knownProviders } = await import('./known-providers.ts');
      return knownProviders(context);
    },
    async catalog() {
      const { catalogIn } = await import('../operations/known-prices.ts');
      return catalogIn(db, context.paths.prices, { providers: settings.providers, now });
    },
    async standings(projectIds) {
      const { listBudgets } = await import('../store/budgets/budgets.ts');
      return listBudgets(db, projectIds, { calendar, now: now() });
    },
    async webhooks(how) {
      const { localService, policyInForce, policyOf } = await import('./webhooks/local-service.ts');
      return localService(context, db, how === 'reading' ? policyOf(settings) : await policyInForce(context));
    },
    async teamUsage(query) {
      const { askTeamUsage } = await import('../team/ask-usage.ts');
      const { withAuthority } = await import('./team/connection.ts');
      return withAuthority(teamUrl(context, db), (authority) => askTeamUsage(authority, query));
    },
  };
  return localReader(sources);
}
