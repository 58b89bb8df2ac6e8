import type { Calendar } from '../../calendar.ts';
import type { Settings } from '../../config/settings.ts';
import { notFound } from '../../errors.ts';
import type { Catalog } from '../../pricing/catalog.ts';
import type { Registry } from '../../providers/registry.ts';
import type { Db } from '../../store/database/open.ts';
import type { Standing } from '../../store/ledger/standing.ts';
import type { AskTeamUsage } from '../../store/team/usage.ts';
import type { WebhookService } from '../../webhooks/service.ts';
import type { Reader } from '../reader.ts';
import type { BudgetView } from '../schemas.ts';
import { mapInSlices } from './map-in-slices.ts';
import { projectToRead, type Scope } from './scope.ts';

/** What a local reader reads besides the database. */
export interface LocalSources {
  db: Db;
  /**
   * A connection of its own for what is polled: SQLite tells a connection only of the writes of others. With a project,
   * it shows the rows of that project alone.
   */
  pollDb: (projectId?: number) => Promise<Db>;
  scope: Scope;
  calendar: Calendar;
  now: () => number;
  settings: () => Settings;
  /** The folder of kept bodies. */
  bodies: string;
  /** The providers that gw has, or would have if it were started. */
  registry: () => Registry | Promise<Registry>;
  catalog: () => Promise<Catalog>;
  standings: (projectIds: number[]) => Promise<Standing[]>;
  webhooks: () => Promise<WebhookService>;
  /** Asks the team's database. Throws GwError. */
  teamUsage: AskTeamUsage;
}

/** Reads the local database. Modules are loaded by the first method that needs them, for the sake of short commands. */
export function createLocalReader(sources: LocalSources): Reader {
  const { db, scope, calendar, now } = sources;
  const idOf = (project: string | undefined) => projectToRead(db, scope, project);
  const caller = scope;
  return {
    calendar: async () => calendar,
    async usage(filter) {
      const { readUsage } = await import('./usage.ts');
      const projectId = idOf(filter.project);
      const name = filter.project ?? (scope.admin ? null : scope.project);
      return readUsage({ db, scope, calendar, projectId }, filter, name);
    },
    async usageTrends(filter) {
      const { readTrends } = await import('./usage.ts');
      return readTrends({ db, scope, calendar, projectId: idOf(filter.project) }, filter);
    },
    ...readersOfRequests(sources),
    async sessions(query) {
      const { readSessions } = await import('./sessions.ts');
      return readSessions({ db, projectId: idOf(query.project) }, query);
    },
    budgets: async ({ project, repo }) => {
      const all = await readBudgets(sources, idOf(project));
      return all.filter((budget) => repo === undefined || budget.repo === null || budget.repo === repo);
    },
    ...readersOfSpend(sources),
    async keys({ project, revoked = false }) {
      const { listKeys } = await import('../../store/accounts/keys.ts');
      const { viewKey } = await import('../account-views.ts');
      const { readKeyUsage } = await import('../../store/accounts/keys.ts');
      const keys = await listKeys(db, idOf(project));
      const usage = readKeyUsage(db);
      return keys
        .filter(({ revokedAt }) => revoked || revokedAt === null)
        .map((key) => viewKey(key, usage.get(key.id)));
    },
    async projects() {
      const { listProjects } = await import('../../store/accounts/projects.ts');
      const { viewProject } = await import('../account-views.ts');
      const projects = await listProjects(db);
      return projects.filter(({ id }) => scope.admin || id === scope.projectId).map(viewProject);
    },
    async prices() {
      const { listPrices } = await import('../../store/accounts/prices.ts');
      const { viewPrice } = await import('../price-views.ts');
      return (await listPrices(db)).map(viewPrice);
    },
    async pricesInForce(model) {
      // Loads the bundled price table, which is large.
      const { knownPrices } = await import('../known-prices.ts');
      const { viewPriceInForce } = await import('../price-views.ts');
      const { didYouMean } = await import('../../nearest-names.ts');
      const { libraryModelNames } = await import('../../pricing/library.ts');
      const configured = Object.keys(sources.settings().providers);
      const prices = knownPrices(model, { catalog: await sources.catalog(), configured });
      if (prices.length > 0) return prices.map(viewPriceInForce);
      const [provider = '', ...rest] = model.split('/');
      const sellers = [...(await sources.registry()).providers.keys()];
      const hint =
        rest.length > 0 && sellers.includes(provider)
          ? didYouMean(rest.join('/'), libraryModelNames(provider))
          : didYouMean(model, sellers.concat('openai', 'anthropic', 'google').flatMap(libraryModelNames));
      throw notFound(
        `no known price for "${model}".${hint} To set it: gw prices set ${model} --input X --output Y`,
        'price_not_found',
        'model',
      );
    },
    async providers() {
      const { viewProviders } = await import('../account-views.ts');
      return viewProviders(await sources.registry());
    },
    async status() {
      const { readStatus } = await import('./status.ts');
      return readStatus(sources, await readBudgets(sources, idOf(undefined)));
    },
    async distrustedBounds() {
      const { readDistrustedBounds } = await import('../../store/budgets/distrusted-bounds.ts');
      const { viewBound } = await import('../account-views.ts');
      return readDistrustedBounds(db, now()).map(viewBound);
    },
    webhooks: async ({ project }) => (await sources.webhooks()).list(caller, project),
    deliveries: async (query) => (await sources.webhooks()).deliveries(caller, query),
    async dashboard() {
      const { localDashboard } = await import('./dashboard.ts');
      return localDashboard(await sources.pollDb(idOf(undefined)), calendar);
    },
  };
}

function readersOfRequests(
  sources: LocalSources,
): Pick<Reader, 'requests' | 'request' | 'requestBodies' | 'followRequests' | 'calls'> {
  const { db, scope, now } = sources;
  return {
    requests: async (query) => (await import('./requests.ts')).readRequests({ db, scope }, query),
    request: async (id) => (await import('./requests.ts')).readRequest({ db, scope }, id),
    requestBodies: async (id) => (await import('./bodies.ts')).readRequestBodies(sources, id),
    async followRequests(filter) {
      const { followMatching } = await import('./requests.ts');
      return followMatching({ db: await sources.pollDb(), scope }, filter, now);
    },
    calls: async (query) => (await import('./calls.ts')).readCalls({ db, scope }, query),
  };
}

function readersOfSpend(
  sources: LocalSources,
): Pick<Reader, 'asks' | 'backtest' | 'cache' | 'suggestBudget' | 'team' | 'teamUsage'> {
  const { db, scope, calendar, now } = sources;
  return {
    team: async () => (await import('./team.ts')).readTeam(sources, projectToRead(db, scope, undefined)),
    teamUsage: async (query) =>
      (await import('./team.ts')).readTeamUsage(await sources.teamUsage(query), query),
    cache: async (query) =>
      (await import('./cache.ts')).readCache(
        { db, projectId: projectToRead(db, scope, query.project) },
        query,
      ),
    async asks({ project }) {
      const { listAsks } = await import('../../store/budgets/asks.ts');
      const { viewAsk } = await import('../ask-view.ts');
      return listAsks(db, { projectId: projectToRead(db, scope, project), now: now() }).map(viewAsk);
    },
    backtest: async ({ project = scope.project, ...query }) =>
      (await import('./backtest.ts')).readBacktest({ db, scope, calendar, project }, query),
    suggestBudget: async ({ project = scope.project }) =>
      (await import('./backtest.ts')).readSuggestion({ db, scope, calendar, project }, now()),
  };
}

/** The budgets of a project, or of all, as they stand. */
async function readBudgets(
  { db, standings, now }: LocalSources,
  projectId: number | undefined,
): Promise<BudgetView[]> {
  const { budgetResponse } = await import('../../store/budgets/budget-response.ts');
  const { projectIds } = await import('../../store/accounts/projects.ts');
  const all = await standings(projectId === undefined ? projectIds(db) : [projectId]);
  // The schema's test validates the fields.
  return mapInSlices(all, (slice) =>
    slice.map((standing) => budgetResponse(standing, now(), { nano: true }) as BudgetView),
  );
}
