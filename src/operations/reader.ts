import type { Calendar } from '../calendar.ts';
import type { Random } from '../ids.ts';
import type { DashboardData, DashboardQuery } from '../store/dashboard/reader.ts';
import type { Input } from './operation.ts';
import type { AskView } from './schemas/asks.ts';
import type { BudgetView } from './schemas/budgets.ts';
import type { LimitWindowView } from './schemas/limits.ts';
import type { RequestConditions, RequestView, requestPage } from './schemas/requests.ts';
import type { RunawayView } from './schemas/status.ts';
import type { SessionView } from './schemas/usage.ts';

/** The dashboard's data, partly in the shape of the other reports. */
export interface DashboardReading extends Omit<DashboardData, 'budgets'> {
  budgets: BudgetView[];
  asks: AskView[];
  runaways: RunawayView[];
  /** Of the owner: none in what one project sees. */
  limits: LimitWindowView[];
  /** Sessions with calls in the window that did not come through gw, the last active first. */
  imported: SessionView[];
}

/** The dashboard's source, which it polls. */
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

/** A carrier's methods besides the operations. */
export interface Polling {
  /** The days and months of the reports. */
  calendar(): Promise<Calendar>;
  /** The newest first, as many as asked for. */
  requests(query: Input<typeof requestPage> & { limit: number }): Promise<RequestView[]>;
  /** Each request that matches, once, after its record is written. */
  followRequests(filter: Pick<RequestConditions, 'project_id' | 'status'>): Promise<Follower<RequestView>>;
  dashboard(): Promise<DashboardFeed>;
}

/** The daemon's state for clients that poll. */
export interface Polls {
  tails: Map<string, Tail>;
  /** By project, or 0 for all. With the calendar's time zone, as a changed one begins anew. */
  feeds: Map<number, Feed>;
  random: Random;
}

export interface Feed {
  timezone: string;
  feed: DashboardFeed;
  name: string;
  version: number;
}

interface Tail {
  keyId: number | undefined;
  follower: Follower<RequestView>;
  usedAt: number;
}
