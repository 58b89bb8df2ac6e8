import { requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { FLAGS } from '../ledger/record.ts';

/** Requests whose provider's usage contradicts itself, by provider, since a time in UTC milliseconds. */
export function countContradictions(db: Db, sinceMs: number): { provider: string; requests: number }[] {
  return db
    .prepare<[number], { provider: string; requests: number }>(`
      SELECT n.name AS provider, count(*) AS requests FROM request_log r JOIN names n ON n.id = r.provider_id
      WHERE r.id >= ? AND r.flags & ${FLAGS.inconsistent} GROUP BY n.name ORDER BY requests DESC`)
    .all(requestIdAt(sinceMs));
}
