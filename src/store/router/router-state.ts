import { jsonOf } from '../../json/object.ts';
import type { Db } from '../database/open.ts';
import { newestFrom } from '../database/sql-parts.ts';

/**
 * The parts of the router's state that survive restarts, a row each; `environment` has the providers that were found in
 * the environment at the last start, `manners` what their refusals have told of them, `waiting` the requests that wait
 * for room in a budget, `streams` what running streams have brought so far, `deployments` the models behind Azure's.
 * The numbers are stored: never renumber.
 */
export const ROUTER_ROWS = {
  health: 1,
  conversations: 2,
  environment: 3,
  manners: 4,
  waiting: 5,
  streams: 6,
  deployments: 7,
} as const;
type RouterPart = keyof typeof ROUTER_ROWS;

export function createRouterStateStore(db: Db) {
  const select = db.prepare<[number], string>('SELECT snapshot FROM route_health WHERE id = ?').pluck();
  const upsert = db.prepare<[number, number, string]>(`INSERT INTO route_health (id, saved_at, snapshot)
    VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET saved_at = excluded.saved_at, snapshot = excluded.snapshot`);
  return {
    /** The last snapshot; undefined if there is none or it can't be parsed. */
    read(part: RouterPart): unknown {
      const text = select.get(ROUTER_ROWS[part]);
      return text === undefined ? undefined : jsonOf(text);
    },
    /** Saves a snapshot. Call it within a write transaction. */
    save: (part: RouterPart, snapshot: unknown, now: number) =>
      upsert.run(ROUTER_ROWS[part], now, JSON.stringify(snapshot)),
  };
}

/** The recorded score of a request: how much its prompt needs the strong tier. */
interface TierScoreRow {
  projectId: number;
  /** As requested by the client. */
  model: string;
  score: number;
}

const MAX_REQUESTS = 5_000;

/** The scores of the newest requests, oldest first. */
export function recentTierScores(db: Db): TierScoreRow[] {
  return db
    .prepare<[], TierScoreRow>(`
      SELECT r.project_id AS projectId, a.name AS model, json_extract(r.detail, '$.tier.score') AS score
      FROM request_log r
      JOIN names a ON a.id = r.asked_model_id
      WHERE r.id >= ${newestFrom(MAX_REQUESTS)} AND r.detail IS NOT NULL AND json_extract(r.detail, '$.tier.score') IS NOT NULL ORDER BY r.id`)
    .all();
}
