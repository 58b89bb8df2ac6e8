import type { Db } from './open.ts';

/** Longer names are cut: a client can send any text as a model's name, and every one is kept for good. */
const MAX_LENGTH = 200;
const MAX_CACHED = 10_000;

/** The dictionary of recurring names. Ids made in a transaction are remembered only once it has committed. */
export interface Names {
  /** The id of a name, made if it is new. Only within a write transaction. */
  idOf(name: string): number;
  /** Tells how the transaction ended. */
  settle(committed: boolean): void;
}

export function createNames(db: Db): Names {
  const select = db.prepare<[string], { id: number }>('SELECT id FROM names WHERE name = ?');
  const insert = db.prepare<[string]>('INSERT INTO names (name) VALUES (?)');
  const known = new Map<string, number>();
  const fresh = new Map<string, number>();
  return {
    idOf(name) {
      const text = name.length > MAX_LENGTH ? name.slice(0, MAX_LENGTH) : name;
      const seen = known.get(text) ?? fresh.get(text);
      if (seen !== undefined) return seen;
      const id = select.get(text)?.id ?? Number(insert.run(text).lastInsertRowid);
      fresh.set(text, id);
      return id;
    },
    settle(committed) {
      if (fresh.size === 0) return;
      if (known.size > MAX_CACHED) known.clear();
      if (committed) for (const [name, id] of fresh) known.set(name, id);
      fresh.clear();
    },
  };
}
