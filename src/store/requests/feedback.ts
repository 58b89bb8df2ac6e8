import type { RequestId } from '../../ids.ts';
import type { Db } from '../database/open.ts';

/** What somebody said of an answer, in the request's record: kept as long as that. */
export function createFeedbackStore(db: Db): (id: RequestId, score: number) => boolean {
  const update = db.prepare<[number, number]>(
    `UPDATE requests SET detail = json_set(coalesce(detail, '{}'), '$.feedback', ?) WHERE id = ?`,
  );
  return (id, score) => update.run(score, id).changes > 0;
}
