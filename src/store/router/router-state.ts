import type { Db } from '../database/open.ts';

/** What the router knows that is kept over restarts, each in a row of its own. The numbers are stored: never renumber. */
const ROWS = { health: 1, conversations: 2 } as const;
export type RouterPart = keyof typeof ROWS;

export interface RouterStateStore {
  /** What was saved last; undefined where nothing was, or it can't be read. */
  read(part: RouterPart): unknown;
  /** Saves within the running transaction. */
  save(part: RouterPart, snapshot: unknown, now: number): void;
}

export function createRouterStateStore(db: Db): RouterStateStore {
  const select = db.prepare<[number], string>('SELECT snapshot FROM route_health WHERE id = ?').pluck();
  const upsert = db.prepare<[number, number, string]>(
    `INSERT INTO route_health (id, saved_at, snapshot) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET saved_at = excluded.saved_at, snapshot = excluded.snapshot`,
  );
  return {
    read(part) {
      const text = select.get(ROWS[part]);
      try {
        return text === undefined ? undefined : JSON.parse(text);
      } catch {
        return undefined;
      }
    },
    save: (part, snapshot, now) => upsert.run(ROWS[part], now, JSON.stringify(snapshot)),
  };
}
