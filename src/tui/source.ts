import type { RequestId } from '../ids.ts';
import type { DashboardFeed } from '../operations/reader.ts';
import type { BudgetView } from '../operations/schemas/budgets.ts';
import type { RequestView } from '../operations/schemas/requests.ts';
import type { TeamView } from '../operations/schemas/team.ts';
import type { TeamUsageView, UsageViewRow } from '../operations/schemas/usage.ts';
import type { TeamUsageQuery } from '../store/team/usage.ts';
import type { AgentView } from './state/agent-view.ts';
import type { Command, CommandResult } from './state/command.ts';
import type { DaemonView } from './state/daemon-view.ts';

/** The dashboard's data source, which also executes its commands. */
export interface Source extends DashboardFeed {
  request(id: RequestId): Promise<RequestView | undefined>;
  /** Sessions that spent a budget in its period, highest cost first. */
  sessionsOf(budget: BudgetView): Promise<UsageViewRow[]>;
  /** Newest requests of a session that count toward the budget. */
  requestsOf(budget: BudgetView, session: string): Promise<RequestView[]>;
  /** This gateway's copy of its team's state; `name` is null without a team. */
  team(): Promise<TeamView>;
  /** Queries the team's database. */
  teamUsage(query: TeamUsageQuery): Promise<TeamUsageView>;
  daemon(): Promise<DaemonView>;
  /** Connected agents. Reads their logs. */
  agents(): Promise<readonly AgentView[]>;
  /** Executes a command. Rejects with an error whose message is for the user. */
  perform(command: Command): Promise<CommandResult>;
}
