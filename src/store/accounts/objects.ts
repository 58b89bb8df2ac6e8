import type { Db } from '../database/open.ts';

/** Who made an object, and at which provider. */
export interface ObjectOwner {
  provider: string;
  projectId: number;
}

/** Who made what providers store: responses, files, batches and the like. */
export function createObjectOwners(db: Db) {
  const select = db.prepare<[string], ObjectOwner & { id: string }>(
    'SELECT lower(id) AS id, provider, project_id AS projectId FROM objects WHERE id IN (SELECT value FROM json_each(?))',
  );
  const insert = db.prepare<[string, string, number, number]>(
    'INSERT INTO objects (id, provider, project_id, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  return {
    /** The owners of ids, in any letter case, by the id in small letters: one for each provider that has given it to an object. */
    find(ids: readonly string[]): ReadonlyMap<string, readonly ObjectOwner[]> {
      const found = new Map<string, ObjectOwner[]>();
      for (const { id, ...owner } of select.all(JSON.stringify(ids)))
        found.set(id, [...(found.get(id) ?? []), owner]);
      return found;
    },
    /** Adds new objects; the first owner of an id stays. Call it within a write transaction. */
    add(ids: readonly string[], { provider, projectId }: ObjectOwner, now: number) {
      for (const id of ids) insert.run(id, provider, projectId, now);
    },
  };
}

/** Whether there is, or ever was, more than one project: what the first one made is not the others'. */
export function hasSeveralProjects(db: Db): boolean {
  return Number(db.prepare('SELECT count(*) FROM projects').pluck().get()) > 1;
}

/** The project that owns a provider's objects that nobody wrote down, by provider. */
export function readObjectClaims(db: Db): ReadonlyMap<string, number> {
  const rows = db
    .prepare<[], ObjectOwner>('SELECT provider, project_id AS projectId FROM object_claims')
    .all();
  return new Map(rows.map(({ provider, projectId }) => [provider, projectId]));
}

/**
 * Gives what providers store so far to the project that has used them, before there is a second one: objects of a single
 * project are not written down. Call it within a write transaction.
 */
export function claimObjects(db: Db): void {
  if (hasSeveralProjects(db)) return;
  db.prepare(`INSERT INTO object_claims (provider, project_id)
    SELECT DISTINCT n.name, u.project_id FROM usage u JOIN names n ON n.id = u.provider_id
    WHERE u.source = 0 AND n.name <> '' ON CONFLICT DO NOTHING`).run();
}
