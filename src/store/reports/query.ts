import type { Outcome } from '../ledger/record.ts';

export const GROUPINGS = ['day', 'model', 'project', 'process', 'repo', 'session', 'agent', 'key'] as const;

export type Grouping = (typeof GROUPINGS)[number];

/** What rows are of: one thing, or each pair of two, such as `agent,model`. */
export type GroupBy = Grouping | `${Grouping},${Grouping}`;

export const GROUP_BYS: readonly GroupBy[] = [
  ...GROUPINGS,
  ...GROUPINGS.flatMap((first) =>
    GROUPINGS.filter((second) => second !== first).map((second) => `${first},${second}` as const),
  ),
];

/** The groupings in words. */
export const GROUP_CHOICES = `${GROUPINGS.join(', ')}, or two of them such as agent,model`;

/** The one or two things that rows are of. */
export function groupingsOf(groupBy: GroupBy): Grouping[] {
  return groupBy.split(',') as Grouping[];
}

/** Which requests a report counts; undefined fields match all. */
export interface UsageConditions {
  /** Undefined: all projects. */
  projectId?: number | undefined;
  keyIds?: readonly number[] | undefined;
  /** The model that served it, as `provider/model` or without the provider. */
  model?: string | undefined;
  agent?: string | undefined;
  /** The agent's own id of the session. */
  session?: string | undefined;
  /** Path of a git repository. */
  repo?: string | undefined;
  /** An HTTP status, and outcomes: with these, only requests whose records are kept are counted. */
  status?: number | undefined;
  outcomes?: readonly Outcome[] | undefined;
}

export interface UsageQuery extends UsageConditions {
  /** Inclusive local days, YYYY-MM-DD. */
  from: string;
  to: string;
  groupBy: GroupBy;
}
