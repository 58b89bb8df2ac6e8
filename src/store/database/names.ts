import { withoutOwnKeys } from '../../redact.ts';
import type { Db } from './open.ts';

/** Longer names are cut: clients can send any text as a model's name, and names are never deleted. */
const MAX_LENGTH = 200;

const MAX_CACHED = 10_000;

/** Caches ids by text. Those set in a transaction are dropped if it is not committed. */
export function createIdCache() {
  const committed = new Map<string, number>();
  const ofTransaction = new Map<string, number>();
  return {
    get: (text: string): number | undefined => committed.get(text) ?? ofTransaction.get(text),
    set: (text: string, id: number) => void ofTransaction.set(text, id),
    /** The transaction has ended. */
    settle(isCommitted: boolean) {
      if (ofTransaction.size === 0) return;
      if (committed.size > MAX_CACHED) committed.clear();
      if (isCommitted) for (const [text, id] of ofTransaction) committed.set(text, id);
      ofTransaction.clear();
    },
  };
}

/** The dictionary of recurring names. Ids made in a transaction are cached once it has committed. */
export type Names = ReturnType<typeof createNames>;

export function createNames(db: Db) {
  const select = db.prepare<[string], { id: number }>('SELECT id FROM names WHERE name = ?');
  const insert = db.prepare<[string]>('INSERT INTO names (name) VALUES (?)');
  const cache = createIdCache();
  return {
    /** The id of a name, which is added if it is new, without a key of gw in it. Call it within a write transaction. */
    idOf(name: string): number {
      const text = withoutOwnKeys(name.length > MAX_LENGTH ? name.slice(0, MAX_LENGTH) : name);
      const cachedId = cache.get(text);
      if (cachedId !== undefined) return cachedId;
      const id = select.get(text)?.id ?? Number(insert.run(text).lastInsertRowid);
      cache.set(text, id);
      return id;
    },
    /** The transaction has ended. */
    settle: cache.settle,
  };
}
