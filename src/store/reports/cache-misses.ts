import type { NanoUsd } from '../../money.ts';
import { columnsAs } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { MISS_COLUMNS, type MissColumns } from '../requests/detail-columns.ts';
import { conditionsOf, type RequestFilter } from '../requests/find-requests.ts';

/** A request that could have read more from its provider's cache. */
export interface MissRow extends MissColumns {
  id: number;
  session: string;
  agent: string;
  detail: string | null;
}

/** All misses of the requests that match. */
export interface MissTotal {
  requests: number;
  missedTokens: number;
  missedNanoUsd: NanoUsd;
}

/** The misses of a span, the newest first, and the total of all of them. */
export function listCacheMisses(
  db: Db,
  filter: Pick<RequestFilter, 'projectId' | 'session' | 'since'>,
  limit: number,
): { rows: MissRow[]; total: MissTotal } {
  const matching = ['missed_tokens > 0', ...conditionsOf(db, { ...filter, source: 'gw' })].join(' AND ');
  const ids = `SELECT id FROM requests WHERE ${matching} UNION ALL SELECT id FROM journal WHERE state > 0 AND ${matching}`;
  const from = `(${ids}) f JOIN request_log r ON r.id = f.id`;
  const rows = db.prepare<[number], MissRow>(`
    SELECT r.id, coalesce(s.external_id, '') AS session, a.name AS agent, r.detail, ${columnsAs(MISS_COLUMNS, 'r')}
    FROM ${from} JOIN names a ON a.id = r.agent_id LEFT JOIN sessions s ON s.id = r.session_id
    ORDER BY r.id DESC LIMIT ?`);
  const total = db.prepare<[], MissTotal>(`
    SELECT count(*) AS requests, coalesce(sum(missed_tokens), 0) AS missedTokens,
    coalesce(sum(missed_nano_usd), 0) AS missedNanoUsd FROM ${from}`);
  const read = db.transaction(() => ({ rows: rows.all(limit), total: total.get() as MissTotal }));
  return read();
}
