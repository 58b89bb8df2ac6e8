import type { Db } from '../database/open.ts';

/** Tables and views with rows of projects, and their columns of the project's id. */
const TABLES: Readonly<Record<string, string>> = {
  projects: 'id',
  keys: 'project_id',
  asks: 'project_id',
  requests: 'project_id',
  journal: 'project_id',
  request_log: 'project_id',
  usage: 'project_id',
  hourly_usage: 'project_id',
  journaled_usage: 'project_id',
  usage_sums: 'project_id',
  sessions: 'project_id',
  events: 'project_id',
  webhook_endpoints: 'project_id',
};

/**
 * Restricts a connection to the rows of one project, for good: temporary views stand before the tables, so no statement
 * of the dashboard can leave the condition out.
 */
export function scopeToProject(db: Db, projectId: number): void {
  const id = Math.trunc(projectId);
  for (const [table, column] of Object.entries(TABLES))
    db.exec(`CREATE TEMP VIEW ${table} AS SELECT * FROM main.${table}
      WHERE ${column} = ${id}`);
  // Those that it shares with others have its figures and theirs.
  db.exec(`CREATE TEMP VIEW budgets AS SELECT * FROM main.budgets WHERE iif(projects = '', project_id = ${id},
    projects = '*' OR ${id} IN (SELECT value FROM json_each(iif(projects = '*', '[]', projects))))`);
}
