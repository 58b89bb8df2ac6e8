import type { RequestId } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { inTransaction } from '../database/write.ts';

/** Writes the feedback on an answer into the request's record; false if there is no such record. */
export function createFeedbackStore(db: Db): (id: RequestId, score: number) => boolean {
  const set = "detail = json_set(coalesce(detail, '{}'), '$.feedback', ?)";
  const updateJournal = db.prepare<[number, number]>(`UPDATE journal SET ${set} WHERE id = ? AND state > 0`);
  const updateDetails = db.prepare<[number, number]>(`UPDATE request_details SET ${set} WHERE id = ?`);
  const insertDetails = db.prepare<[number, number]>(`INSERT INTO request_details (id, detail)
    SELECT id, json_object('feedback', ?) FROM requests WHERE id = ?`);
  return (id, score) =>
    inTransaction(db, () =>
      [updateJournal, updateDetails, insertDetails].some((statement) => statement.run(score, id).changes > 0),
    );
}
