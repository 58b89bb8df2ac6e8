import type { Calendar } from '../../calendar.ts';
import { labelName } from '../../labels.ts';
import { bucketOf } from '../database/usage-bucket.ts';
import type { Source } from '../ledger/record.ts';
import type { RequestFilter } from '../requests/find-requests.ts';

/** Groupings by time: the key of a bucket that starts at `atMs`. Their rows are in order; those of names by cost. */
export const TIMES = {
  day: (calendar, atMs) => calendar.dateOf(atMs),
  // A UTC hour counts where it begins, also where records are read one by one.
  hour: (calendar, atMs) => `${calendar.timeOfDay(bucketOf(atMs)).slice(0, 2)}:00`,
} as const satisfies Record<string, (calendar: Calendar, atMs: number) => string>;

export type Time = keyof typeof TIMES;

export const isTime = (grouping: string | undefined): grouping is Time =>
  grouping !== undefined && Object.hasOwn(TIMES, grouping);

export const GROUPINGS = [
  'day',
  'hour',
  'model',
  'project',
  'process',
  'repo',
  'session',
  'agent',
  'key',
] as const;

export type Grouping = (typeof GROUPINGS)[number] | LabelGrouping;

/** By the values of a label. */
export type LabelGrouping = `label:${string}`;

export const isLabel = (grouping: string): grouping is LabelGrouping => labelName(grouping) !== undefined;

/** Grouping of the rows: by one thing or by two, such as `agent,model`. */
export type GroupBy = Grouping | `${Grouping},${Grouping}`;

/** Reads one thing or two different ones; at most one of them is a label. */
export function parseGroupBy(text: string): GroupBy | undefined {
  const groupings = text.replaceAll(' ', '').split(',');
  const isKnown = groupings.every((each) => isLabel(each) || GROUPINGS.some((known) => known === each));
  const isPair = groupings.length === 2 && groupings[0] !== groupings[1] && !groupings.every(isLabel);
  return isKnown && (groupings.length === 1 || isPair) ? (groupings.join() as GroupBy) : undefined;
}

/** The field of a row that has its key. */
export function fieldOf(grouping: Grouping) {
  if (isLabel(grouping)) return 'label';
  return grouping === 'project' ? 'project_id' : grouping;
}

/** The groupings as a sentence names them. */
export const GROUP_WORDS =
  'day, hour of day, model, project, program, repository, session, agent, key, label';

/** The groupings as an option takes them. */
export const GROUP_CHOICES = `${GROUPINGS.join(', ')}, label:NAME, or two of them such as agent,model`;

/** The one or two things that rows are of. */
export const groupingsOf = (groupBy: string): Grouping[] => groupBy.split(',') as Grouping[];

/** Whose usage a report counts: what came through gw, what was imported from logs of agents, or both. */
export const USAGE_SOURCES = ['gw', 'imported', 'all'] as const satisfies readonly (Source | 'all')[];
export type UsageSource = (typeof USAGE_SOURCES)[number];

/**
 * Which requests a report counts, a model by what served them. With a status or outcomes, only requests whose records are
 * kept are counted.
 */
export type UsageConditions = Pick<
  RequestFilter,
  | 'projectId'
  | 'keyIds'
  | 'model'
  | 'agent'
  | 'session'
  | 'repo'
  | 'labels'
  | 'status'
  | 'outcomes'
  | 'isFallback'
>;

export interface UsageQuery extends UsageConditions {
  /** Default: `gw`. Imported usage has no status. */
  source?: Exclude<UsageSource, 'gw'> | undefined;
  /** Inclusive local days, YYYY-MM-DD. */
  from: string;
  to: string;
  groupBy: GroupBy;
}
