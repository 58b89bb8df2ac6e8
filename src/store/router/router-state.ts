import type { Db } from '../database/open.ts';

/**
 * The parts of the router's state that survive restarts, a row each; `environment` has the providers that were found in
 * the environment at the last start. The numbers are stored: never renumber.
 */
const ROWS = { health: 1, conversations: 2, environment: 3 } as const;
type RouterPart = keyof typeof ROWS;

export interface RouterStateStore {
  /** The last snapshot; undefined if there is none or it can't be parsed. */
  read(part: RouterPart): unknown;
  /** Saves a snapshot. Call it within a write transaction. */
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
