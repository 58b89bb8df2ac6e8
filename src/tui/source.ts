import type { RequestId } from '../ids.ts';
import type { FeedFilter } from '../store/dashboard/feed.ts';
import type { DashboardData, Window } from '../store/dashboard/reader.ts';
import type { LoggedRequest } from '../store/requests/request-log.ts';
import type { Command, Done } from './state/command.ts';
import type { DaemonView } from './state/daemon-view.ts';

/** Where the dashboard gets what it shows, and what it can do. */
export interface Source {
  /** Whether the database was written to since this was asked last. */
  changed(): boolean;
  read(query: { window: Window; filter: FeedFilter; now: number }): DashboardData;
  request(id: RequestId): Promise<LoggedRequest | undefined>;
  daemon(): Promise<DaemonView>;
  /** Carries a command out. Rejects with what a person should read. */
  perform(command: Command): Promise<Done>;
}
