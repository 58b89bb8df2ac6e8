import { scopeToProject } from '../store/dashboard/scope-to-project.ts';
import { type Db, openDatabase } from '../store/database/open.ts';

/**
 * Read-only connections for what clients poll, opened on first use: SQLite tells a connection only of the writes of
 * others, so the one that the daemon writes on can't tell whether there is anything new.
 */
export interface PolledConnection {
  /** With a project, a connection that shows the rows of that project alone. */
  open(projectId?: number): Promise<Db>;
  close(): Promise<void>;
}

export function createPolledConnection(path: string): PolledConnection {
  const opened = new Map<number | undefined, Promise<Db>>();

  async function connect(projectId: number | undefined): Promise<Db> {
    const db = await openDatabase(path, { readonly: true });
    if (projectId !== undefined) scopeToProject(db, projectId);
    return db;
  }

  return {
    open(projectId) {
      const connection = opened.get(projectId) ?? connect(projectId);
      opened.set(projectId, connection);
      return connection;
    },
    async close() {
      for (const connection of opened.values()) (await connection).close();
    },
  };
}
