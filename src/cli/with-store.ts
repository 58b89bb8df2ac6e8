import { makeHome } from '../paths.ts';
import { remoteGateway } from '../remote/target.ts';
import { ensureDefaultProject, findProject } from '../store/accounts/projects.ts';
import { type Db, openDatabase } from '../store/database/open.ts';
import type { Context } from './context.ts';
import { refuseLostDatabase } from './daemon/find.ts';
import { localOnly } from './remote/connection.ts';

/**
 * Runs `work` on the open database. Creates the database and the default project if they do not exist. Throws if
 * commands go to a remote gw, whose data is not here, or if the running daemon has lost the database.
 */
export async function withStore<T>(context: Context, work: (db: Db) => Promise<T>): Promise<T> {
  const remote = remoteGateway(context);
  if (remote) throw localOnly('this command', remote);
  makeHome(context.paths);
  await refuseLostDatabase(context.paths);
  const db = await openDatabase(context.paths.database);
  try {
    ensureDefaultProject(db, context.clock.now());
    return await work(db);
  } finally {
    db.close();
  }
}

/** The id of the project named with `--project`; undefined without the option. */
export function optionalProject(db: Db, name: string | undefined): number | undefined {
  return name === undefined ? undefined : findProject(db, name);
}

/** The same as a part of a query. */
export function projectFilter(db: Db, name: string | undefined): { projectId?: number } {
  return name === undefined ? {} : { projectId: findProject(db, name) };
}
