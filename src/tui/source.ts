import type { RequestId } from '../ids.ts';
import type { DashboardFeed } from '../reading/reader.ts';
import type { RequestView } from '../reading/schemas.ts';
import type { AgentView } from './state/agent-view.ts';
import type { Command, CommandResult } from './state/command.ts';
import type { DaemonView } from './state/daemon-view.ts';

/** Where the dashboard reads its data and sends its commands. */
export interface Source extends DashboardFeed {
  request(id: RequestId): Promise<RequestView | undefined>;
  daemon(): Promise<DaemonView>;
  /** The connected agents. Reads their logs. */
  agents(): Promise<readonly AgentView[]>;
  /** Executes a command. Rejects with an error whose message is for the user. */
  perform(command: Command): Promise<CommandResult>;
}
