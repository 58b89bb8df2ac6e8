import { usdNumber } from '../../money.ts';
import { projectIds } from '../../store/accounts/projects.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import { isoTime, roomOf, type Standing } from '../../store/ledger/standing.ts';
import { readMembership } from '../../store/team/membership.ts';
import {
  type AskTeamUsage,
  TEAM_FIGURES,
  type TeamUsageQuery,
  type TeamUsageSum,
} from '../../store/team/usage.ts';
import type { BudgetView, TeamUsageView, TeamView } from '../schemas.ts';
import type { LocalSources } from './reader.ts';

/** The team by what this gateway has heard of it. Asks nobody. */
export async function readTeam(
  { db, standings, now }: Pick<LocalSources, 'db' | 'standings' | 'now'>,
  projectId: number | undefined,
): Promise<TeamView> {
  const membership = readMembership(db);
  const at = (time: number | null | undefined) => isoTime(time ?? Number.POSITIVE_INFINITY);
  const budgets = membership ? await standings(projectId === undefined ? projectIds(db) : [projectId]) : [];
  return {
    object: 'team',
    name: membership?.teamName ?? null,
    gateway_id: membership?.gatewayId ?? null,
    gateway: membership?.name ?? null,
    timezone: membership?.timezone ?? null,
    joined_at: at(membership?.joinedAt),
    synced_at: at(membership?.syncedAt),
    unreachable_since: at(membership?.unreachableSince),
    failure: membership?.failure ?? null,
    frozen: membership?.frozen === 1,
    courier: (membership?.courierUntil ?? 0) > now(),
    clock_offset_ms: membership?.syncedAt == null ? null : membership.offsetMs,
    leaving: membership?.leaving === 1,
    budgets: budgets.flatMap((standing) => teamBudget(standing, now())),
  };
}

function teamBudget(standing: Standing, now: number): TeamView['budgets'] {
  const { team, posted } = standing;
  if (!team) return [];
  return [
    {
      // The schema's test validates the fields.
      ...(budgetResponse(standing, now, { nano: true }) as BudgetView),
      room_usd: usdNumber(Math.max(0, roomOf(standing))),
      spent_here_usd: usdNumber(posted),
      short: team.tight,
      gateways: team.active,
    },
  ];
}

/** A report of the team's usage: days in order, anything else with the highest cost first. */
export function readTeamUsage(
  { team, timezone, scope, sums }: Awaited<ReturnType<AskTeamUsage>>,
  { groupBy, from, to }: TeamUsageQuery,
): TeamUsageView {
  const field = groupBy === 'project' ? 'project_id' : groupBy;
  const nameOf = ({ key, member }: TeamUsageSum) => `${key}\n${member ?? ''}`;
  const byName = (a: TeamUsageSum, b: TeamUsageSum) => (nameOf(a) < nameOf(b) ? -1 : 1);
  const sorted = [...sums].sort((a, b) =>
    groupBy === 'day' ? byName(a, b) : b.figures.cost_nano_usd - a.figures.cost_nano_usd || byName(a, b),
  );
  const total = Object.fromEntries(
    TEAM_FIGURES.map((name) => [name, sums.reduce((sum, { figures }) => sum + figures[name], 0)]),
  ) as TeamUsageSum['figures'];
  const data = sorted.map(({ key, member, figures }) => ({
    [field]: key,
    ...(member === null ? {} : { member }),
    ...inUsd(figures),
  }));
  const span = { from, to, timezone, group_by: groupBy };
  return { object: 'team_usage', team, scope, ...span, data, total: inUsd(total) };
}

function inUsd({ cost_nano_usd, saved_nano_usd, ...counts }: TeamUsageSum['figures']) {
  return {
    ...counts,
    ...{ cost_usd: usdNumber(cost_nano_usd), saved_usd: usdNumber(saved_nano_usd) },
    ...{ cost_nano_usd, saved_nano_usd },
  };
}
