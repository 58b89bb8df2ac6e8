import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';

/** What a key was used for, read from the records of requests: using a key writes nothing of its own. */
export interface KeyUsage {
  /** When its last request came in, UTC milliseconds; null: never. To the hour once that request is pruned. */
  lastUsedAt: number | null;
  spentNanoUsd: NanoUsd;
}

interface Row {
  id: number;
  spent: number;
  lastBucket: number;
  lastRequest: number | null;
}

/** The usage of all keys that have any, by their ids. */
export function readKeyUsage(db: Db): ReadonlyMap<number, KeyUsage> {
  const rows = db
    .prepare<[], Row>(
      `SELECT u.key_id AS id, sum(u.cost_nano_usd) AS spent, max(u.bucket) AS lastBucket,
       coalesce((SELECT at FROM journal j WHERE j.key_id = u.key_id ORDER BY id DESC LIMIT 1),
         (SELECT at FROM requests r WHERE r.key_id = u.key_id ORDER BY id DESC LIMIT 1)) AS lastRequest
       FROM usage u WHERE u.source = 0 AND u.key_id > 0 GROUP BY u.key_id`,
    )
    .all();
  return new Map(
    rows.map(({ id, spent, lastBucket, lastRequest }) => {
      const lastUsedAt = lastRequest ?? lastBucket;
      return [id, { lastUsedAt, spentNanoUsd: spent }];
    }),
  );
}
