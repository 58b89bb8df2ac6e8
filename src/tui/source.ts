import type { RequestId } from '../ids.ts';
import type { FeedFilter } from '../store/dashboard/feed.ts';
import type { DashboardData, Window } from '../store/dashboard/reader.ts';
import type { LoggedRequest } from '../store/requests/request-log.ts';
import type { Command, CommandResult } from './state/command.ts';
import type { DaemonView } from './state/daemon-view.ts';

/** Where the dashboard reads its data and sends its commands. */
export interface Source {
  /** Whether the database has changed since the last call. */
  changed(): boolean;
  read(query: { window: Window; filter: FeedFilter; now: number }): DashboardData;
  request(id: RequestId): Promise<LoggedRequest | undefined>;
  daemon(): Promise<DaemonView>;
  /** Executes a command. Rejects with an error whose message is for the user. */
  perform(command: Command): Promise<CommandResult>;
}
