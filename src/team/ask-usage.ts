import type { AskTeamUsage, TeamUsageQuery } from '../store/team/usage.ts';
import type { TeamAuthority } from './authority.ts';

/** Sums of the team's usage, with the team's name and time zone. Throws GwError. */
export async function askTeamUsage(
  authority: Pick<TeamAuthority, 'budgets' | 'usage'>,
  query: TeamUsageQuery,
): ReturnType<AskTeamUsage> {
  const { name: team, timezone } = await authority.budgets();
  return { team, timezone, ...(await authority.usage(query)) };
}
