import type { Db } from '../database/open.ts';

/** How long a turn can be gone on with by a client that brings back the ids of its calls alone. */
const KEPT_MS = 86_400_000;
/** More turns than a day has, of which all together take a few hundred megabytes at most. */
const MAX_TURNS = 20_000;
/** Rows deleted in one step. */
const ROWS = 250;

/** What only the providers of tool calls can read, by project and call. */
export function createCarriedTurns(db: Db) {
  const select = db
    .prepare<[number, string, number], string>(
      'SELECT turn FROM carried_turns WHERE project_id = ? AND call_id = ? AND at > ?',
    )
    .pluck();
  const first = db
    .prepare<[number, string, string], number>(
      'SELECT 1 FROM carried_turns WHERE project_id = ? AND call_id >= ? AND call_id < ? LIMIT 1',
    )
    .pluck();
  const upsert = db.prepare<[number, string, number, string]>(
    'INSERT OR REPLACE INTO carried_turns (project_id, call_id, at, turn) VALUES (?, ?, ?, ?)',
  );
  const prune = db.prepare<[number]>(`DELETE FROM carried_turns WHERE (project_id, call_id) IN (
    SELECT project_id, call_id FROM carried_turns WHERE at < max(?,
      coalesce((SELECT at FROM carried_turns ORDER BY at DESC LIMIT 1 OFFSET ${MAX_TURNS}), 0)) LIMIT ${ROWS})`);
  return {
    /** The turn's JSON. */
    load: (projectId: number, callId: string, now: number): string | undefined =>
      select.get(projectId, callId, now - KEPT_MS),
    hasAny: (projectId: number, start: string): boolean =>
      first.get(projectId, start, `${start}\u{10ffff}`) !== undefined,
    /** Call it within a write transaction. */
    save: (projectId: number, callId: string, now: number, turn: string) =>
      void upsert.run(projectId, callId, Math.trunc(now), turn),
    /** Deletes old turns, a few a call, within a write transaction. Returns whether there may be more. */
    prune: (now: number): boolean => prune.run(Math.trunc(now) - KEPT_MS).changes === ROWS,
  };
}
