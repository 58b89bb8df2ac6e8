import { notFound } from '../../errors.ts';
import type { Db } from '../database/open.ts';
import { inTransaction } from '../database/write.ts';
import { createArchive, SEARCH_MS } from './archive.ts';
import { createDelete } from './size-limit.ts';

/** The records to delete: those of a project, or of one session of an agent in it. */
export interface RecordsToDelete {
  projectId: number;
  /** The agent's own id of the session. */
  session?: string | undefined;
  /** Only requests that came in before, UTC milliseconds. */
  before: number;
}

/** Rows deleted in one step: about 10 ms. */
const ROWS = 2_000;

/**
 * Deletes records, and the names of their sessions, a few a step; call it until it returns 0. Figures stay in the
 * rollups, so reports and budgets don't change. Throws GwError 404 for an unknown session.
 */
export function deleteRecords(db: Db, { projectId, session, before }: RecordsToDelete): number {
  return inTransaction(db, () => {
    const archive = createArchive(db);
    // Their figures are in the rollups once they are archived, which waits for no search for a caller here.
    while (archive.takeOver(before + SEARCH_MS));
    const sessions = db
      .prepare<[number], { id: number; name: string }>(`SELECT id, external_id AS name FROM sessions
        WHERE project_id = ?`)
      .all(projectId)
      .filter(({ id, name }) => (session === undefined ? name !== deletedName(id) : name === session));
    if (session !== undefined && sessions.length === 0)
      throw notFound(`no session "${session}" in this project`, 'session_not_found', 'session_id');
    const ofSession =
      session === undefined ? '' : `AND session_id IN (SELECT value FROM json_each(@sessions))`;
    const ids = db
      .prepare<object, number>(`SELECT id FROM requests WHERE project_id = @projectId
        AND at < @until ${ofSession} LIMIT ${ROWS}`)
      .pluck()
      .all({ projectId, until: before, sessions: JSON.stringify(sessions.map(({ id }) => id)) });
    keepLastId(db);
    createDelete(db)(ids);
    db.prepare(`DELETE FROM asks
      WHERE request_id IN (SELECT value FROM json_each(?))`).run(JSON.stringify(ids));
    if (ids.length > 0) return ids.length;
    // Daemons remember the ids of sessions, so their rows stay.
    const rename = db.prepare('UPDATE sessions SET external_id = ? WHERE id = ?');
    for (const { id } of sessions) rename.run(deletedName(id), id);
    return 0;
  });
}

const deletedName = (id: number) => `deleted-${id}`;

/** Ids must not be used again, even after the clock was set back (`lastRequestId`). */
function keepLastId(db: Db): void {
  db.prepare(`
    INSERT INTO meta (key, value) SELECT 'last_request_id', max(id) FROM requests WHERE true HAVING max(id) IS NOT NULL
    ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`).run();
}
