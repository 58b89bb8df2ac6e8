import { usdNumber } from '../../money.ts';
import { projectIds } from '../../store/accounts/projects.ts';
import { budgetResponse } from '../../store/budgets/budget-response.ts';
import { isoTime, roomOf, type Standing } from '../../store/ledger/standing.ts';
import { readMembership } from '../../store/team/membership.ts';
import type { BudgetView, TeamView } from '../schemas.ts';
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
