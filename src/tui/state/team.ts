import type { TeamUsageView, TeamView } from '../../reading/schemas.ts';

/** What the dashboard knows of the team that this gateway belongs to. */
export interface TeamState {
  /** As this gateway has heard of it; null: it belongs to none. */
  team: TeamView | null;
  isOpen: boolean;
  /** Today's, from the team's database; null: not read yet. */
  usage: { gateways: TeamUsageView; models: TeamUsageView; at: number } | null;
  /** Why the database can't be asked, and since when. */
  failure: { message: string; since: number } | null;
}

export type TeamAction =
  | { type: 'team'; team: TeamView }
  | ({ type: 'teamUsage' } & NonNullable<TeamState['usage']>)
  | { type: 'teamFailure'; message: string; at: number };

export const NO_TEAM: TeamState = { team: null, isOpen: false, usage: null, failure: null };

export function receiveTeam(state: TeamState, action: TeamAction): TeamState {
  switch (action.type) {
    case 'team':
      return action.team.name === null ? NO_TEAM : { ...state, team: action.team };
    case 'teamUsage': {
      const { type: _, ...usage } = action;
      return { ...state, usage, failure: null };
    }
    case 'teamFailure':
      return {
        ...state,
        failure: { message: action.message, since: state.failure?.since ?? state.usage?.at ?? action.at },
      };
  }
}
