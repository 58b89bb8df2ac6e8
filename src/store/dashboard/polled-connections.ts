import { remembered } from '../../json/grouped.ts';
import { type Db, openDatabase } from '../database/open.ts';

/**
 * Read-only connections for polled data, opened on first use. SQLite reports only other connections' writes, so the
 * daemon's writing connection can't detect its own changes.
 */
export function createPolledConnections(path: string) {
  const opened = new Map<number | undefined, Promise<Db>>();

  async function connect(projectId: number | undefined): Promise<Db> {
    const db = await openDatabase(path, { readonly: true });
    if (projectId !== undefined) scopeToProject(db, projectId);
    return db;
  }

  return {
    /** With a project id, a connection that sees only that project's rows. */
    open: (projectId?: number) => remembered(opened, projectId, () => connect(projectId)),
    async close() {
      for (const connection of opened.values()) (await connection).close();
    },
  };
}

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
function scopeToProject(db: Db, projectId: number): void {
  const id = Math.trunc(projectId);
  for (const [table, column] of Object.entries(TABLES))
    db.exec(`CREATE TEMP VIEW ${table} AS SELECT * FROM main.${table}
      WHERE ${column} = ${id}`);
  // Those that it shares with others have its figures and theirs.
  db.exec(`CREATE TEMP VIEW budgets AS SELECT * FROM main.budgets WHERE iif(projects = '', project_id = ${id},
    projects = '*' OR ${id} IN (SELECT value FROM json_each(iif(projects = '*', '[]', projects))))`);
}
