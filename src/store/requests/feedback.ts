import type { RequestId } from '../../ids.ts';
import type { Db } from '../database/open.ts';

/** Writes the feedback on an answer into the request's record; false if there is no such record. */
export function createFeedbackStore(db: Db): (id: RequestId, score: number) => boolean {
  const update = db.prepare<[number, number]>(
    `UPDATE requests SET detail = json_set(coalesce(detail, '{}'), '$.feedback', ?) WHERE id = ?`,
  );
  return (id, score) => update.run(score, id).changes > 0;
}
