import type { TeamView } from '../../operations/schemas/team.ts';
import type { TeamUsageView } from '../../operations/schemas/usage.ts';

/** The dashboard's state of this gateway's team. */
export interface TeamState {
  /** This gateway's copy of the team's state; null without a team. */
  team: TeamView | null;
  isOpen: boolean;
  /** Today's usage from the team's database; null until it is read. */
  usage: { gateways: TeamUsageView; models: TeamUsageView; at: number } | null;
  /** Why and since when queries of the team's database fail. */
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
