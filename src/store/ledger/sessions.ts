import type { Db } from '../database/open.ts';

/** The first request of a session. */
interface FirstRequest {
  /** When it came in, UTC milliseconds. */
  at: number;
  projectId: number;
}

/** Ids of names. */
interface SessionNames {
  agentId: number;
  agentVersionId: number;
  repoId: number;
}

/** The sessions that requests belong to. Their figures are added when requests are archived. */
export interface Sessions {
  /** The id of an agent's session, which is added if it is new. Call it within a write transaction. */
  idOf(externalId: string, request: FirstRequest, names: SessionNames): number;
  /** The transaction has ended. */
  settle(committed: boolean): void;
}

/** Longer ids are cut: clients choose them. */
const MAX_LENGTH = 200;
const MAX_CACHED = 10_000;

export function createSessions(db: Db): Sessions {
  const select = db
    .prepare<[string, number, number], number>(
      'SELECT id FROM sessions WHERE external_id = ? AND project_id = ? AND agent_id = ?',
    )
    .pluck();
  const insert = db.prepare<(string | number)[]>(
    `INSERT INTO sessions (external_id, project_id, agent_id, agent_version_id, repo_id, first_at, last_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const cache = new Map<string, number>();
  /** Sessions of the running transaction. */
  const uncommitted = new Map<string, number>();
  return {
    idOf(externalId, { at, projectId }, { agentId, agentVersionId, repoId }) {
      const text = externalId.slice(0, MAX_LENGTH);
      const key = `${projectId} ${agentId} ${text}`;
      const cached = cache.get(key) ?? uncommitted.get(key);
      if (cached !== undefined) return cached;
      const id =
        select.get(text, projectId, agentId) ??
        Number(insert.run(text, projectId, agentId, agentVersionId, repoId, at, at).lastInsertRowid);
      uncommitted.set(key, id);
      return id;
    },
    settle(committed) {
      if (uncommitted.size === 0) return;
      if (cache.size > MAX_CACHED) cache.clear();
      if (committed) for (const [key, id] of uncommitted) cache.set(key, id);
      uncommitted.clear();
    },
  };
}
