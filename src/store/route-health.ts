import type { Db } from './open.ts';

/** What is known of the targets' health, as it is kept over restarts. */
export interface RouteHealthStore {
  /** What was saved last; undefined where nothing was, or it can't be read. */
  read(): unknown;
  /** Saves within the running transaction. */
  save(snapshot: unknown, now: number): void;
}

export function createRouteHealthStore(db: Db): RouteHealthStore {
  const select = db.prepare<[], string>('SELECT snapshot FROM route_health WHERE id = 1').pluck();
  const upsert = db.prepare<[number, string]>(
    `INSERT INTO route_health (id, saved_at, snapshot) VALUES (1, ?, ?)
     ON CONFLICT DO UPDATE SET saved_at = excluded.saved_at, snapshot = excluded.snapshot`,
  );
  return {
    read() {
      const text = select.get();
      try {
        return text === undefined ? undefined : JSON.parse(text);
      } catch {
        return undefined;
      }
    },
    save: (snapshot, now) => upsert.run(now, JSON.stringify(snapshot)),
  };
}
