import { oldestRecordAt } from '../database/daemons.ts';
import type { Db } from '../database/open.ts';
import { bucketOf } from '../database/usage-bucket.ts';
import { SOURCES } from '../ledger/record.ts';

const HOUR_MS = 3_600_000;

/**
 * Tells of a time of a session whether gw has figures of that hour, but no records any more, which it keeps for a time
 * only.
 */
export function readForgottenUsage(db: Db): (session: string, at: number) => boolean {
  const until = oldestRecordAt(db) ?? Number.MAX_SAFE_INTEGER;
  const found = db
    .prepare<[number, number], { session: string; bucket: number }>(
      `SELECT DISTINCT s.external_id AS session, h.bucket FROM hourly_usage h JOIN sessions s ON s.id = h.session_id
       WHERE h.source = ? AND h.bucket < ?`,
    )
    .all(SOURCES.gw, until);
  const hours = new Set(found.map(({ session, bucket }) => `${session} ${bucket}`));
  // A call is logged when it ends, and recorded under the time of its start.
  return (session, at) =>
    at < until && [at, at - HOUR_MS].some((time) => hours.has(`${session} ${bucketOf(time)}`));
}
