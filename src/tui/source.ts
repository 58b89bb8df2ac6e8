import { addDays } from '../calendar.ts';
import type { RequestId } from '../ids.ts';
import { formatUsd } from '../money.ts';
import { budgetBody } from '../operations/budget-scope.ts';
import type { DashboardFeed } from '../operations/reader.ts';
import type { Reader } from '../operations/registry.ts';
import type { BudgetView } from '../operations/schemas/budgets.ts';
import type { RequestConditions, RequestView } from '../operations/schemas/requests.ts';
import type { TeamView } from '../operations/schemas/team.ts';
import type { TeamUsageView, UsageViewRow } from '../operations/schemas/usage.ts';
import type { TeamUsageQuery } from '../store/team/usage.ts';
import type { Command, CommandResult } from './state/dialog.ts';
import type { AgentView, DaemonView, View } from './state/state.ts';

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
  /** Keeps the view for the next run. */
  remember(view: View): void;
  /** Executes a command. Rejects with an error whose message is for the user. */
  perform(command: Command): Promise<CommandResult>;
}

const REQUESTS = 200;

/** Reads the sessions that spent a budget in its period, and their requests. */
export function budgetDrill(reader: Reader, now: () => number) {
  async function daysOf({ period, window_seconds: seconds }: BudgetView) {
    const calendar = await reader.calendar();
    const today = calendar.dateOf(now());
    if (period === 'daily') return { from: today, to: today };
    if (period === 'weekly') return { from: calendar.dateOf(calendar.week(now()).start), to: today };
    if (period === 'monthly') return { from: `${today.slice(0, 7)}-01`, to: today };
    if (period === 'rolling') return { from: calendar.dateOf(now() - (seconds ?? 0) * 1_000), to: today };
    return { from: addDays(today, -365), to: today };
  }
  return {
    async sessionsOf(budget: BudgetView): Promise<UsageViewRow[]> {
      const days = await daysOf(budget);
      return (await reader.usage({ ...conditionsOf(budget), ...days, group_by: 'session' })).data;
    },
    requestsOf: (budget: BudgetView, session: string): Promise<RequestView[]> =>
      reader.requests({ ...conditionsOf(budget), session, limit: REQUESTS }),
  };
}

/** The requests that a budget counts here. A run's have its key, which is labelled with its id. */
function conditionsOf({ project_id, scope, team }: BudgetView): RequestConditions {
  if (team) return project_id === '' ? {} : { project_id };
  if (scope === null || scope.value === null) return { project_id };
  return { project_id, [scope.kind === 'run' ? 'key' : scope.kind]: scope.value };
}

/** Executes a confirmed command, as the commands of gw do. */
export async function perform(
  admin: Reader,
  command: Exclude<Command, { kind: 'run_gw' }>,
): Promise<CommandResult> {
  switch (command.kind) {
    case 'raise_budget': {
      const { kind: _, ...change } = command;
      const { id, cap_nano_usd } = await admin.setBudget(budgetBody(change));
      return { message: `Raised budget ${id} to ${formatUsd(cap_nano_usd)}, from the next request on.` };
    }
    case 'approve_ask': {
      const { request_id, needed_nano_usd } = await admin.approveAsk({ id: command.id, once: true });
      return { message: `Approved: request ${request_id} may cost up to ${formatUsd(needed_nano_usd)}.` };
    }
    case 'deny_ask': {
      const { request_id } = await admin.denyAsk({ id: command.id });
      return { message: `Denied: request ${request_id} is refused.` };
    }
    case 'create_key': {
      const { id, key } = await admin.createKey({ project_id: command.project });
      return { message: `Created key ${id} for project ${command.project}:`, secret: key };
    }
    case 'revoke_key': {
      await admin.revokeKey({ id: command.id });
      return { message: `Revoked key ${command.id}.` };
    }
    case 'replay_webhook': {
      const webhook = `wh_${command.id}`;
      const { replayed } = await admin.replayFailed({ webhook_id: webhook });
      return { message: `Queued ${replayed} ${replayed === 1 ? 'delivery' : 'deliveries'} to ${webhook}.` };
    }
    case 'stop_all':
    case 'resume_all': {
      const paused = command.kind === 'stop_all';
      const { projects } = await admin.pauseAll({ paused, cut: paused });
      return {
        message: paused
          ? `Paused all projects (${projects.join(', ')}) and cut their running requests. To resume them, press S again.`
          : `Resumed all projects (${projects.join(', ')}).`,
      };
    }
    case 'pause_project':
    case 'resume_project': {
      const paused = command.kind === 'pause_project';
      await admin.changeProject({ project: command.project, paused });
      return {
        message: paused
          ? `Paused project ${command.project}. gw refuses its requests until it is resumed.`
          : `Resumed project ${command.project}.`,
      };
    }
  }
}
