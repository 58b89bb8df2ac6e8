import type { Calendar } from '../calendar.ts';
import type { RequestId } from '../ids.ts';
import type { FeedFilter } from '../store/dashboard/feed.ts';
import type { DashboardData, Window } from '../store/dashboard/reader.ts';
import type { GroupBy, Grouping, UsageSource } from '../store/reports/query.ts';
import type { TeamUsageQuery } from '../store/team/usage.ts';
import type { DeliveryQuery } from '../webhooks/service.ts';
import type { DeliveryView, EndpointView } from '../webhooks/views.ts';
import type { AskView } from './ask-schema.ts';
import type { BacktestView, BudgetSuggestionView } from './backtest-schemas.ts';
import type { RequestBodiesView } from './bodies-schema.ts';
import type { CacheView } from './cache-schema.ts';
import type { CallView } from './call-schema.ts';
import type {
  BudgetView,
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
} from './schemas.ts';

/** Which requests a list or a report is of; undefined fields match all. */
export interface RequestConditions {
  project?: string | undefined;
  /** The model that served the request, as `provider/model` or without the provider. */
  model?: string | undefined;
  /** Id or label of a key. */
  key?: string | undefined;
  agent?: string | undefined;
  /** The agent's own id of a session. */
  session?: string | undefined;
  /** Path of a git repository. */
  repo?: string | undefined;
  /** An HTTP status, an outcome, or `failed`. */
  status?: string | undefined;
}

export interface UsageFilter extends RequestConditions {
  /** Inclusive days of the reader's calendar, YYYY-MM-DD. */
  from: string;
  to: string;
  groupBy: GroupBy;
  /** Default: `gw`. */
  source?: UsageSource | undefined;
  /** Whose days; default: the reader's calendar. */
  timezone?: 'UTC' | undefined;
}

export interface RequestsFilter extends RequestConditions {
  /** UTC milliseconds; `until` is exclusive. */
  since?: number | undefined;
  until?: number | undefined;
}

export interface RequestsQuery extends RequestsFilter {
  limit: number;
  /** Only requests before this one. */
  before?: RequestId | undefined;
}

/** A page of the calls of an agent; of unknown programs if `agent` is empty. */
export interface CallsQuery {
  agent: string;
  /** UTC milliseconds; `until` is exclusive. */
  since: number;
  until: number;
  limit: number;
  /** Only calls after this one. */
  after?: RequestId | undefined;
}

export interface SessionsQuery {
  /** The agent's own id. */
  id?: string | undefined;
  project?: string | undefined;
  agent?: string | undefined;
  /** UTC milliseconds: only sessions with a request since then. */
  since?: number | undefined;
  limit: number;
}

export interface CacheQuery {
  project?: string | undefined;
  /** The agent's own id. */
  session?: string | undefined;
  /** UTC milliseconds. */
  since?: number | undefined;
  limit: number;
}

export interface BacktestQuery {
  /** Default: the project of the key; `default` on its own machine. */
  project?: string | undefined;
  capNanoUsd: number;
  period: BacktestView['period'];
  /** Inclusive days of the reader's calendar, YYYY-MM-DD. */
  from: string;
  to: string;
}

export interface DashboardQuery {
  window: Window;
  filter: FeedFilter;
  now: number;
}

/** What the dashboard shows: budgets have the shape of the other reports. */
export type DashboardReading = Omit<DashboardData, 'budgets'> & { budgets: BudgetView[]; asks: AskView[] };

/** What the dashboard polls. */
export interface DashboardFeed {
  /** Whether something may have changed since the last call. */
  changed(): boolean;
  /** Undefined if nothing has changed since the last reading with this window and filter. */
  read(query: DashboardQuery): Promise<DashboardReading | undefined>;
}

/** Returns what is new at each call. */
export interface Follower<T> {
  next(): Promise<T[]>;
}

/**
 * All that commands and the dashboard read: from the local database, or from a gw's HTTP API. Reports are the objects
 * that `--json` prints, so both print the same. Throws GwError 403 and 404 for a project that the reader can't see.
 */
export interface Reader {
  /** The days and months of the reports. */
  calendar(): Promise<Calendar>;
  usage(filter: UsageFilter): Promise<UsageView>;
  /** Spend on each day of the span, by the report row's key. */
  usageTrends(filter: UsageFilter & { groupBy: Exclude<Grouping, 'day'> }): Promise<UsageTrendsView>;
  /** The newest first. */
  requests(query: RequestsQuery): Promise<RequestView[]>;
  /** Throws GwError 404. */
  request(id: string): Promise<RequestView>;
  /** The bodies of a request, if they are kept. Throws GwError 404 with the reason if not. */
  requestBodies(id: string): Promise<RequestBodiesView>;
  /** Each request that matches, once, after its record is written. */
  followRequests(filter: Pick<RequestsFilter, 'project' | 'status'>): Promise<Follower<RequestView>>;
  /** What of an agent's requests tells them apart, oldest first, running ones included. */
  calls(query: CallsQuery): Promise<CallView[]>;
  /** The last active first. Throws GwError 404 for an id that none has. */
  sessions(query: SessionsQuery): Promise<SessionView[]>;
  /** What the providers' caches could have served and didn't, the newest first. */
  cache(query: CacheQuery): Promise<CacheView>;
  /** `repo`: only budgets that count requests from this repository. */
  budgets(filter: { project?: string | undefined; repo?: string | undefined }): Promise<BudgetView[]>;
  /** The requests that wait for an answer, the oldest first. */
  asks(filter: { project?: string | undefined }): Promise<AskView[]>;
  /** What a cap would have done to a project's past requests. */
  backtest(query: BacktestQuery): Promise<BacktestView>;
  suggestBudget(filter: { project?: string | undefined }): Promise<BudgetSuggestionView>;
  keys(filter: { project?: string | undefined; revoked?: boolean | undefined }): Promise<KeyView[]>;
  projects(): Promise<ProjectView[]>;
  /** The prices that the user set. */
  prices(): Promise<PriceView[]>;
  /** The price in force of a model at its provider, or at each that sells it. Throws GwError 404. */
  pricesInForce(model: string): Promise<PriceInForceView[]>;
  providers(): Promise<ProvidersView>;
  status(): Promise<StatusView>;
  team(): Promise<TeamView>;
  /** From the team's database. Throws GwError 409 without a team, 503 where the database can't be asked. */
  teamUsage(query: TeamUsageQuery): Promise<TeamUsageView>;
  distrustedBounds(): Promise<DistrustedBoundView[]>;
  webhooks(filter: { project?: string | undefined }): Promise<EndpointView[]>;
  deliveries(query: DeliveryQuery): Promise<DeliveryView[]>;
  dashboard(): Promise<DashboardFeed>;
}
