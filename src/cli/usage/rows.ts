import type { UsageView, UsageViewRow } from '../../reading/schemas.ts';
import { groupingsOf } from '../../store/reports/query.ts';

/** The figures of a row or of the total. */
export type Figures = UsageView['total'];

/** A row of a usage report with its key: the day, model, project, program, repository, session, agent or key. */
export interface UsageRow extends Figures {
  key: string;
  /** The second key of a report by two things. */
  subkey?: string;
}

/** The fields of a row that have its keys: one or two. */
export function keysOf(groupBy: UsageView['group_by']) {
  return groupingsOf(groupBy).map((grouping) => (grouping === 'project' ? 'project_id' : grouping));
}

export function rowsOf({ data, group_by }: Pick<UsageView, 'data' | 'group_by'>): UsageRow[] {
  const [first = 'day', second] = keysOf(group_by);
  const fieldOf = (row: UsageViewRow, name: typeof first) => row[name] ?? '';
  return data.map((row) => ({
    ...row,
    key: fieldOf(row, first),
    ...(second === undefined ? {} : { subkey: fieldOf(row, second) }),
  }));
}
