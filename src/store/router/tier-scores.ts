import { newestFrom } from '../database/id-range.ts';
import type { Db } from '../database/open.ts';

/** The recorded score of a request: how much its prompt needs the strong tier. */
export interface TierScoreRow {
  projectId: number;
  /** As requested by the client. */
  model: string;
  score: number;
}

const MAX_REQUESTS = 5_000;

/** The scores of the newest requests, oldest first. */
export function recentTierScores(db: Db): TierScoreRow[] {
  return db
    .prepare<[], TierScoreRow>(
      `SELECT r.project_id AS projectId, a.name AS model, json_extract(r.detail, '$.tier.score') AS score
       FROM request_log r
       JOIN names a ON a.id = r.asked_model_id
       WHERE r.id >= ${newestFrom(MAX_REQUESTS)} AND r.detail IS NOT NULL AND json_extract(r.detail, '$.tier.score') IS NOT NULL ORDER BY r.id`,
    )
    .all();
}
