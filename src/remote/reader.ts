import { createCalendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { GwError } from '../errors.ts';
import { formatRequestId } from '../ids.ts';
import { NANO_PER_USD } from '../money.ts';
import type { AskView } from '../reading/ask-schema.ts';
import type { BacktestView, BudgetSuggestionView } from '../reading/backtest-schemas.ts';
import type { RequestBodiesView } from '../reading/bodies-schema.ts';
import type { CacheView } from '../reading/cache-schema.ts';
import type { CallView } from '../reading/call-schema.ts';
import { decodeDashboard } from '../reading/dashboard-wire.ts';
import type {
  DashboardFeed,
  Follower,
  Reader,
  RequestConditions,
  RequestsFilter,
  RequestsQuery,
} from '../reading/reader.ts';
import type {
  BudgetView,
  DashboardView,
  DistrustedBoundView,
  KeyView,
  PriceInForceView,
  PriceView,
  ProjectView,
  ProvidersView,
  RequestView,
  SessionView,
  StatusView,
  TeamUsageView,
  TeamView,
  UsageTrendsView,
  UsageView,
  WhoamiView,
} from '../reading/schemas.ts';
import type { DeliveryView, EndpointView } from '../webhooks/views.ts';
import type { AskRemote } from './client.ts';
import type { RemoteRequest } from './send.ts';

type Query = NonNullable<RemoteRequest['query']>;

interface List<T> {
  data: T[];
}

interface Page<T> extends List<T> {
  next_cursor: string | null;
}

/** The most requests that the API returns at once. */
const MAX_PAGE_SIZE = 1_000;

/** Reads another gw through its HTTP API. */
export function createRemoteReader(
  ask: AskRemote,
  clock: Pick<Clock, 'now'>,
  pageSize = MAX_PAGE_SIZE,
): Reader {
  // The client has checked that a gw of a known version answers; a test validates its answers against the schemas.
  const get = async <T>(path: string, query: Query = {}) => (await ask({ path, query })) as T;
  const list = async <T>(path: string, query: Query = {}) => (await get<List<T>>(path, query)).data;

  let gateway: Promise<WhoamiView> | undefined;
  const calendar = async () => {
    gateway ??= get<WhoamiView>('/v1/gw/whoami');
    return createCalendar((await gateway).timezone);
  };

  async function requests({ limit, ...query }: RequestsQuery): Promise<RequestView[]> {
    const found: RequestView[] = [];
    let cursor = query.before === undefined ? undefined : formatRequestId(query.before);
    while (found.length < limit) {
      const size = Math.min(pageSize, limit - found.length);
      const filter = { ...requestsQuery(query), limit: size, cursor };
      const page = await get<Page<RequestView>>('/v1/gw/requests', filter);
      found.push(...page.data);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    return found;
  }

  return {
    calendar,
    usage: ({ from, to, groupBy, source, timezone, ...conditions }) =>
      get<UsageView>('/v1/gw/usage', {
        from,
        to,
        group_by: groupBy,
        source,
        timezone,
        ...conditionsQuery(conditions),
      }),
    usageTrends: ({ from, to, groupBy, source, timezone: _, ...conditions }) =>
      get<UsageTrendsView>('/v1/gw/usage/trends', {
        from,
        to,
        group_by: groupBy,
        source,
        ...conditionsQuery(conditions),
      }),
    sessions({ id, project, agent, since, limit }) {
      const path = id === undefined ? '/v1/gw/sessions' : `/v1/gw/sessions/${encodeURIComponent(id)}`;
      return list<SessionView>(path, { project_id: project, agent, since: timeText(since), limit });
    },
    cache: ({ project, session, since, limit }) =>
      get<CacheView>('/v1/gw/cache', { project_id: project, session, since: timeText(since), limit }),
    requests,
    request: (id) => get<RequestView>(`/v1/gw/requests/${encodeURIComponent(id)}`),
    requestBodies: (id) => get<RequestBodiesView>(`/v1/gw/requests/${encodeURIComponent(id)}/bodies`),
    followRequests: (filter) => followRemote({ ask, requests, clock }, filter),
    calls: ({ agent, since, until, limit, after }) =>
      list<CallView>('/v1/gw/calls', {
        agent,
        since: timeText(since),
        until: timeText(until),
        limit: Math.min(limit, MAX_PAGE_SIZE),
        cursor: after === undefined ? undefined : formatRequestId(after),
      }),
    ...remoteLimits(get, list),
    keys: ({ project, revoked }) => list<KeyView>('/v1/gw/keys', { project_id: project, revoked }),
    projects: () => list<ProjectView>('/v1/gw/projects'),
    prices: () => list<PriceView>('/v1/gw/prices'),
    pricesInForce: (model) => list<PriceInForceView>('/v1/gw/prices/in-force', { model }),
    providers: () => get<ProvidersView>('/v1/gw/providers'),
    status: () => get<StatusView>('/v1/gw/status'),
    team: () => get<TeamView>('/v1/gw/team'),
    teamUsage: ({ groupBy, from, to }) =>
      get<TeamUsageView>('/v1/gw/team/usage', { group_by: groupBy, from, to }),
    distrustedBounds: () => list<DistrustedBoundView>('/v1/gw/bounds'),
    webhooks: ({ project }) => list<EndpointView>('/v1/webhooks', { project_id: project }),
    deliveries: ({ project, webhook, status, since, limit }) =>
      list<DeliveryView>('/v1/gw/deliveries', {
        project_id: project,
        webhook_id: webhook,
        status,
        since: timeText(since),
        limit,
      }),
    dashboard: async () => remoteDashboard(ask),
  };
}

/** Asks for the value at a path. */
type Get = <T>(path: string, query?: Query) => Promise<T>;
type GetList = <T>(path: string, query?: Query) => Promise<T[]>;

function remoteLimits(
  get: Get,
  list: GetList,
): Pick<Reader, 'budgets' | 'asks' | 'backtest' | 'suggestBudget'> {
  return {
    budgets: ({ project, repo }) => list<BudgetView>('/v1/gw/budgets', { project_id: project, repo }),
    asks: ({ project }) => list<AskView>('/v1/gw/asks', { project_id: project }),
    backtest: ({ project, capNanoUsd, period, from, to }) =>
      get<BacktestView>('/v1/gw/budgets/backtest', {
        project_id: project,
        cap_usd: (capNanoUsd / NANO_PER_USD).toFixed(9),
        period,
        from,
        to,
      }),
    suggestBudget: ({ project }) =>
      get<BudgetSuggestionView>('/v1/gw/budgets/suggest', { project_id: project }),
  };
}

/** The filter of a request list as query parameters. */
function requestsQuery(query: Omit<RequestsQuery, 'limit' | 'before'>): Query {
  const { since, until, ...conditions } = query;
  return { ...conditionsQuery(conditions), since: timeText(since), until: timeText(until) };
}

function conditionsQuery(conditions: RequestConditions): Query {
  const { project, model, key, agent, session, repo, status } = conditions;
  return { project_id: project, model, key, agent, session, repo, status };
}

function timeText(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString();
}

interface DashboardAnswer {
  version: string;
  /** Null if the version is the one that was asked about. */
  data: DashboardView | null;
}

/** Polls the dashboard of another gw, which sends its data only after a change. */
function remoteDashboard(ask: AskRemote): DashboardFeed {
  /** The window and filter of the last answer, and its version. */
  let last: { view: string; version: string } | undefined;
  return {
    changed: () => true,
    async read({ window, filter }) {
      const view = JSON.stringify([window, filter]);
      const unless = last?.view === view ? last.version : undefined;
      const query = { window, kind: filter.kind, text: filter.text || undefined, unless };
      const { version, data } = (await ask({ path: '/v1/gw/dashboard', query })) as DashboardAnswer;
      last = { view, version };
      return data === null ? undefined : decodeDashboard(data);
    },
  };
}

interface Source {
  ask: AskRemote;
  requests: Reader['requests'];
  clock: Pick<Clock, 'now'>;
}

interface TailAnswer {
  data: RequestView[];
  next_cursor: string;
}

/** How many requests are read after a restart of the server, which knows no cursor from before. */
const MAX_MISSED = 1_000;

/** Follows the requests of another gw, which keeps what it has sent to each cursor. */
async function followRemote(
  { ask, requests, clock }: Source,
  filter: Pick<RequestsFilter, 'project' | 'status'>,
): Promise<Follower<RequestView>> {
  const query = { project_id: filter.project, status: filter.status };
  const poll = async (cursor?: string) =>
    (await ask({ path: '/v1/gw/tail', query: { ...query, cursor } })) as TailAnswer;
  let { next_cursor: cursor } = await poll();
  let polledAt = clock.now();
  return {
    async next() {
      const since = polledAt;
      polledAt = clock.now();
      try {
        const answer = await poll(cursor);
        cursor = answer.next_cursor;
        return answer.data;
      } catch (error) {
        if (!(error instanceof GwError && error.code === 'cursor_expired')) throw error;
        ({ next_cursor: cursor } = await poll());
        return (await requests({ ...filter, since, limit: MAX_MISSED })).reverse();
      }
    },
  };
}
