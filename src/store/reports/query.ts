export const GROUPINGS = ['day', 'model', 'project', 'process', 'repo'] as const;

export type Grouping = (typeof GROUPINGS)[number];

export interface UsageQuery {
  /** Inclusive local days, YYYY-MM-DD. */
  from: string;
  to: string;
  groupBy: Grouping;
  /** Undefined: all projects. */
  projectId?: number;
}
