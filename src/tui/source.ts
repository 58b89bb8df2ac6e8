import type { RequestId } from '../ids.ts';
import type { DashboardFeed } from '../reading/reader.ts';
import type { BudgetView, RequestView, TeamUsageView, TeamView, UsageViewRow } from '../reading/schemas.ts';
import type { TeamUsageQuery } from '../store/team/usage-query.ts';
import type { AgentView } from './state/agent-view.ts';
import type { Command, CommandResult } from './state/command.ts';
import type { DaemonView } from './state/daemon-view.ts';

/** Where the dashboard reads its data and sends its commands. */
export interface Source extends DashboardFeed {
  request(id: RequestId): Promise<RequestView | undefined>;
  /** The sessions that have spent a budget in its period, highest cost first. */
  sessionsOf(budget: BudgetView): Promise<UsageViewRow[]>;
  /** The newest requests of a session that the budget counts. */
  requestsOf(budget: BudgetView, session: string): Promise<RequestView[]>;
  /** What this gateway has heard of its team; its `name` is null if it belongs to none. */
  team(): Promise<TeamView>;
  /** From the team's database. */
  teamUsage(query: TeamUsageQuery): Promise<TeamUsageView>;
  daemon(): Promise<DaemonView>;
  /** The connected agents. Reads their logs. */
  agents(): Promise<readonly AgentView[]>;
  /** Executes a command. Rejects with an error whose message is for the user. */
  perform(command: Command): Promise<CommandResult>;
}
