import { createCalendar } from '../../calendar.ts';
import { usdNumber } from '../../money.ts';
import { projectIds } from '../../store/accounts/projects.ts';
import { isoTime, roomOf, type Standing } from '../../store/ledger/standing.ts';
import { isTime } from '../../store/reports/query.ts';
import { readMembership } from '../../store/team/membership.ts';
import { TEAM_FIGURES, type TeamUsageSum } from '../../store/team/usage.ts';
import type { Input } from '../operation.ts';
import type * as described from '../schemas/team.ts';
import type { TeamView } from '../schemas/team.ts';
import type { TeamUsageView } from '../schemas/usage.ts';
import { projectToRead, type Sources } from '../sources.ts';
import { usageSpan } from '../usage-span.ts';
import { viewBudget } from './budgets.ts';

/** The team as of the last sync. Doesn't query its database. */
export async function team({ db, scope, standings, now }: Sources): Promise<TeamView> {
  const projectId = projectToRead(db, scope, undefined);
  const membership = readMembership(db);
  const budgets = membership ? await standings(projectId === undefined ? projectIds(db) : [projectId]) : [];
  return {
    object: 'team',
    name: membership?.teamName ?? null,
    gateway_id: membership?.gatewayId ?? null,
    gateway: membership?.name ?? null,
    timezone: membership?.timezone ?? null,
    joined_at: isoTime(membership?.joinedAt),
    synced_at: isoTime(membership?.syncedAt),
    unreachable_since: isoTime(membership?.unreachableSince),
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
      ...viewBudget(standing, now),
      room_usd: usdNumber(Math.max(0, roomOf(standing))),
      spent_here_usd: usdNumber(posted),
      short: team.tight,
      gateways: team.active,
    },
  ];
}

/** A report of the team's usage: times in order, anything else with the highest cost first. */
export async function teamUsage(
  sources: Sources,
  { group_by: groupBy = 'day', ...days }: Input<typeof described.teamUsage>,
): Promise<TeamUsageView> {
  const own = readMembership(sources.db)?.timezone;
  const calendar = own === undefined ? sources.calendar : createCalendar(own);
  const { from, to } = usageSpan(days, calendar.dateOf(sources.now()));
  const { team, timezone, scope, sums } = await sources.teamUsage({ groupBy, from, to });
  const field = groupBy === 'project' ? 'project_id' : groupBy;
  const nameOf = ({ key, member }: TeamUsageSum) => `${key}\n${member ?? ''}`;
  const byName = (a: TeamUsageSum, b: TeamUsageSum) => (nameOf(a) < nameOf(b) ? -1 : 1);
  const sorted = [...sums].sort((a, b) =>
    isTime(groupBy) ? byName(a, b) : b.figures.cost_nano_usd - a.figures.cost_nano_usd || byName(a, b),
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
