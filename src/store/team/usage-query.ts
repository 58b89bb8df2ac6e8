import { COUNTS } from '../archive/usage-sums.ts';
import { columnName } from '../database/columns.ts';

/** The figures that a team gets, by their columns here and there. */
export const TEAM_FIGURES = ([...COUNTS, 'costNanoUsd', 'savedNanoUsd'] as const).map(columnName);

/** What one key of this gateway used of a model, for a project, in an hour. */
export type TeamUsageRow = {
  /** Start of the bucket, UTC ms: an hour, cut where a day begins in some time zone. */
  bucket: number;
  project: string;
  provider: string;
  model: string;
  key: string;
} & Record<(typeof TEAM_FIGURES)[number], number>;

/** What a report of the team's usage has rows of. */
export const TEAM_GROUPINGS = ['project', 'model', 'member', 'gateway', 'key', 'day'] as const;
export type TeamGrouping = (typeof TEAM_GROUPINGS)[number];

/** Whose usage, over inclusive days of the team's time zone, YYYY-MM-DD. */
export interface TeamUsageQuery {
  groupBy: TeamGrouping;
  from: string;
  to: string;
}

/** Sums by one thing. */
export interface TeamUsageSum {
  key: string;
  /** The member's login role; null: of several. */
  member: string | null;
  figures: Record<(typeof TEAM_FIGURES)[number], number>;
}

export interface TeamUsage {
  /** `own`: only of gateways that the asking role has joined, since it may not see the others. */
  scope: 'team' | 'own';
  /** In no order. */
  sums: TeamUsageSum[];
}

/** Asks the team's database for sums. Throws GwError: 409 without a team, 503 where it can't be asked. */
export type AskTeamUsage = (query: TeamUsageQuery) => Promise<TeamUsage & { team: string; timezone: string }>;
