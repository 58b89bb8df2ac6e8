import { type Db, openDatabase } from '../database/open.ts';
import { scopeToProject } from './scope-to-project.ts';

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
    open(projectId?: number) {
      const connection = opened.get(projectId) ?? connect(projectId);
      opened.set(projectId, connection);
      return connection;
    },
    async close() {
      for (const connection of opened.values()) (await connection).close();
    },
  };
}
