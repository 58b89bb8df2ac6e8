import { type RequestId, requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { idsBefore } from '../database/sql-parts.ts';
import { SOURCES } from '../ledger/record.ts';

/** Fields that match a request to a call in an agent's log. */
export interface RecordedCall {
  id: RequestId;
  /** UTC milliseconds. `endedAt` is null while it runs. */
  startedAt: number;
  endedAt: number | null;
  session: string;
  inputTokens: number;
  outputTokens: number;
  upstreamMessageId: string | null;
  upstreamRequestId: string | null;
}

export interface CallFilter {
  /** Empty: requests of unknown programs. */
  agent: string;
  projectId?: number | undefined;
  /** UTC milliseconds: from `since` on, and before `until`. */
  since: number;
  until: number;
  /** Only requests with a higher id. */
  after?: RequestId | undefined;
  limit: number;
}

interface Row extends Omit<RecordedCall, 'endedAt'> {
  /** Null while it runs. */
  durationMs: number | null;
}

/** The calls of an agent that came through gw, oldest first, running ones included. */
export function listCalls(db: Db, filter: CallFilter): RecordedCall[] {
  const { agent, projectId, since, until, after = -1, limit } = filter;
  const agentId = db.prepare<[string], number>('SELECT id FROM names WHERE name = ?').pluck().get(agent);
  if (agentId === undefined) return [];
  // Requests of unknown programs are not in the index. SQLite would read all of the span instead of using it.
  const [index, isIndexed] =
    agentId === 0 ? ['', 'TRUE'] : ['INDEXED BY requests_of_agent', 'r.agent_id <> 0'];
  const where = `r.agent_id = ${agentId} AND ${isIndexed} AND r.source = ${SOURCES.gw} AND r.id > @after AND r.id >= @from AND r.at >= @since AND r.id < ${idsBefore(until)} AND r.at < @until
    AND (@projectId IS NULL OR r.project_id = @projectId)`;
  const columns = `r.id, r.at AS startedAt, coalesce(s.external_id, '') AS session, r.input_tokens AS inputTokens,
    r.output_tokens AS outputTokens`;
  const rows = db
    .prepare<[Record<string, number | null>], Row>(`SELECT * FROM (
        SELECT ${columns}, d.upstream_message_id AS upstreamMessageId, d.upstream_request_id AS upstreamRequestId,
        r.duration_ms AS durationMs
        FROM requests r ${index} LEFT JOIN request_details d ON d.id = r.id LEFT JOIN sessions s ON s.id = r.session_id
        WHERE ${where} ORDER BY r.id LIMIT @limit)
      UNION ALL SELECT * FROM (
        SELECT ${columns}, r.upstream_message_id, r.upstream_request_id, iif(r.state = 0, NULL, r.duration_ms)
        FROM journal r LEFT JOIN sessions s ON s.id = r.session_id
        WHERE ${where} ORDER BY r.id LIMIT @limit)
      ORDER BY id LIMIT @limit`)
    .all({
      after,
      from: requestIdAt(since),
      since: Math.ceil(since),
      until: Math.ceil(until),
      projectId: projectId ?? null,
      limit,
    });
  return rows.map(({ durationMs, ...row }) => {
    return { ...row, endedAt: durationMs === null ? null : row.startedAt + durationMs };
  });
}
