import { COUNTERS, prepareSummedUntil, SUM_KINDS } from '../archive/usage-sums.ts';
import type { Db } from '../database/open.ts';
import type { UsageSpan } from './by-day.ts';
import { byCost, FROM_GW, SUMS, type UsageRow } from './figures.ts';

const DAY_MS = 86_400_000;
const KEY = 'project_id, provider_id, model_id';
const COLUMNS = `${KEY}, ${COUNTERS.join(', ')}`;
const TOTALS = `${KEY}, ${COUNTERS.map((name) => `sum(${name}) AS ${name}`).join(', ')}`;

/** SQL for `provider/model`, from names `v` (provider) and `m` (model). */
export const MODEL_NAME =
  "CASE WHEN v.name = '' OR m.name LIKE v.name || '/%' THEN m.name ELSE v.name || '/' || m.name END";

/** The SQL of a row's name, and the columns that identify a row. */
const NAMES = {
  project: { name: 'p.name', joins: 'JOIN projects p ON p.id = u.project_id', key: 'project_id' },
  model: {
    name: MODEL_NAME,
    joins: 'JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id',
    key: 'provider_id, model_id',
  },
};

/**
 * Usage of each model or project, highest cost first. Whole UTC days come from the sums, the rest
 * from the rollups and the journal.
 */
export function usageByName(db: Db, span: UsageSpan & { groupBy: 'model' | 'project' }): UsageRow[] {
  const { from, to, projectId = null, groupBy } = span;
  const summedUntil = prepareSummedUntil(db).get() ?? 0;
  const firstDay = Math.min(to, Math.ceil(from / DAY_MS) * DAY_MS);
  const lastDay = Math.max(firstDay, Math.floor(Math.min(to, summedUntil) / DAY_MS) * DAY_MS);
  const { name, joins, key } = NAMES[groupBy];
  const usage = (view: string, start: string, end: string) =>
    `SELECT ${COLUMNS} FROM ${view} WHERE ${FROM_GW} AND bucket >= ${start} AND bucket < ${end}
     AND (@projectId IS NULL OR project_id = @projectId)`;
  const rows = db.prepare<unknown[], UsageRow>(
    `SELECT ${name} AS key, ${SUMS} FROM (SELECT ${TOTALS} FROM (
       SELECT ${COLUMNS} FROM usage_sums WHERE kind = @kind AND project_id IN (${projectsOf(span)})
         AND start >= @firstDay AND start < @lastDay
       UNION ALL ${usage('hourly_usage', '@from', '@firstDay')}
       UNION ALL ${usage('hourly_usage', '@lastDay', '@to')}
       UNION ALL ${usage('journaled_usage', '@from', '@to')}
     ) GROUP BY ${key}) u ${joins} GROUP BY 1 HAVING sum(u.requests) > 0`,
  );
  return rows.all({ kind: kindOf(span), from, firstDay, lastDay, to, projectId }).sort(byCost);
}

function kindOf({
  groupBy,
  projectId,
}: {
  groupBy: 'model' | 'project';
  projectId: number | undefined;
}): number {
  if (groupBy === 'project') return SUM_KINDS.dayOfProject;
  return projectId === undefined ? SUM_KINDS.dayOfModel : SUM_KINDS.dayOfProjectAndModel;
}

/** SQL for the project ids of the sums' rows: with them, `start` is a range of the primary key. */
function projectsOf({
  groupBy,
  projectId,
}: {
  groupBy: 'model' | 'project';
  projectId: number | undefined;
}): string {
  if (projectId !== undefined) return '@projectId';
  return groupBy === 'project' ? 'SELECT id FROM projects' : '0';
}
