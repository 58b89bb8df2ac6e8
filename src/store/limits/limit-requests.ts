import { requestIdAt } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { FLAGS, SOURCES } from '../ledger/record.ts';

/** A request that went out with a login. */
export interface LoginRequest {
  login: string;
  startedAt: number;
  endedAt: number;
  session: string;
  agent: string;
  repo: string;
  model: string;
  /** Cached ones included. */
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  /** At list price. */
  costNanoUsd: number;
}

/** More of them than plans allow in 90 days. */
const MOST = 300_000;

/** The requests of logins that ended since a time, the latest first where there are too many. */
export function loginRequests(db: Db, since: number): LoginRequest[] {
  return (
    db
      .prepare<{ from: number; since: number }, LoginRequest>(`
      SELECT json_extract(r.detail, '$.login') AS login, r.at AS startedAt, r.at + r.duration_ms AS endedAt,
        coalesce(s.external_id, '') AS session, a.name AS agent, o.name AS repo, m.name AS model,
        r.input_tokens AS inputTokens, r.cached_input_tokens AS cachedInputTokens,
        r.output_tokens AS outputTokens, r.cost_nano_usd AS costNanoUsd
      FROM request_log r JOIN names a ON a.id = r.agent_id JOIN names o ON o.id = r.repo_id
      JOIN names m ON m.id = r.model_id LEFT JOIN sessions s ON s.id = r.session_id
      WHERE r.id >= @from AND r.at >= @since - 3600000 AND r.source = ${SOURCES.gw}
        AND (r.flags & ${FLAGS.not_billed}) <> 0 AND login IS NOT NULL AND endedAt > @since
      ORDER BY r.id DESC LIMIT ${MOST}`)
      // The longest answers take less than an hour.
      .all({ from: requestIdAt(since - 3_600_000), since: Math.trunc(since) })
  );
}
