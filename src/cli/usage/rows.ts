import type { UsageView } from '../../reading/schemas.ts';

/** The figures of a row or of the total. */
export type Figures = UsageView['total'];

/** A row of a usage report with its key: the day, model, project, program or repository. */
export interface UsageRow extends Figures {
  key: string;
}

/** The field of a row that has its key. */
export function keyOf(groupBy: UsageView['group_by']) {
  return groupBy === 'project' ? 'project_id' : groupBy;
}

export function rowsOf({ data, group_by }: Pick<UsageView, 'data' | 'group_by'>): UsageRow[] {
  const name = keyOf(group_by);
  return data.map((row) => ({ ...row, key: row[name] ?? '' }));
}
