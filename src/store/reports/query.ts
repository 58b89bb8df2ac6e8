import type { Source } from '../ledger/record.ts';
import type { RequestFilter } from '../requests/find-requests.ts';

export const GROUPINGS = ['day', 'model', 'project', 'process', 'repo', 'session', 'agent', 'key'] as const;

export type Grouping = (typeof GROUPINGS)[number];

/** Grouping of the rows: by one thing or by two, such as `agent,model`. */
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

/** Whose usage a report counts: what came through gw, what was imported from logs of agents, or both. */
export const USAGE_SOURCES = ['gw', 'imported', 'all'] as const satisfies readonly (Source | 'all')[];
export type UsageSource = (typeof USAGE_SOURCES)[number];

/**
 * Which requests a report counts, a model by what served them. With a status or outcomes, only requests whose records are
 * kept are counted.
 */
export type UsageConditions = Pick<
  RequestFilter,
  'projectId' | 'keyIds' | 'model' | 'agent' | 'session' | 'repo' | 'status' | 'outcomes'
>;

export interface UsageQuery extends UsageConditions {
  /** Default: `gw`. Imported usage has no status. */
  source?: Exclude<UsageSource, 'gw'> | undefined;
  /** Inclusive local days, YYYY-MM-DD. */
  from: string;
  to: string;
  groupBy: GroupBy;
}
