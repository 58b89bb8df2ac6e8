import { withoutOwnKeys } from '../../redact.ts';
import type { Db } from './open.ts';

/** Longer names are cut: clients can send any text as a model's name, and names are never deleted. */
const MAX_LENGTH = 200;
const MAX_CACHED = 10_000;

/** The dictionary of recurring names. Ids made in a transaction are cached once it has committed. */
export type Names = ReturnType<typeof createNames>;

export function createNames(db: Db) {
  const select = db.prepare<[string], { id: number }>('SELECT id FROM names WHERE name = ?');
  const insert = db.prepare<[string]>('INSERT INTO names (name) VALUES (?)');
  const cache = new Map<string, number>();
  /** Names of the running transaction. */
  const uncommitted = new Map<string, number>();
  return {
    /** The id of a name, which is added if it is new, without a key of gw in it. Call it within a write transaction. */
    idOf(name: string): number {
      const text = withoutOwnKeys(name.length > MAX_LENGTH ? name.slice(0, MAX_LENGTH) : name);
      const cachedId = cache.get(text) ?? uncommitted.get(text);
      if (cachedId !== undefined) return cachedId;
      const id = select.get(text)?.id ?? Number(insert.run(text).lastInsertRowid);
      uncommitted.set(text, id);
      return id;
    },
    /** The transaction has ended. */
    settle(committed: boolean) {
      if (uncommitted.size === 0) return;
      if (cache.size > MAX_CACHED) cache.clear();
      if (committed) for (const [name, id] of uncommitted) cache.set(name, id);
      uncommitted.clear();
    },
  };
}
