import { requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { OUTCOMES, SOURCES } from '../ledger/record.ts';

/** What compression saved of the requests of a span. */
export interface SavedSince {
  savedTokens: number;
  savedNanoUsd: NanoUsd;
  /** Requests that were sent as they came. */
  leftRequests: number;
}

/** Requests that came in from `since` on (UTC milliseconds) and were sent; of one project, if it is given. */
export function savedSince(db: Db, since: number, projectId?: number): SavedSince {
  const sums = `total(saved_tokens) AS savedTokens, total(saved_nano_usd) AS savedNanoUsd,
    count(iif(saved_tokens = 0, 1, NULL)) AS leftRequests`;
  const where = `id >= @first AND at >= @since AND source = ${SOURCES.gw} AND outcome <> ${OUTCOMES.blocked} AND input_tokens > 0
    AND (@projectId IS NULL OR project_id = @projectId)`;
  const row = db
    .prepare<[{ first: number; since: number; projectId: number | null }], SavedSince>(
      `SELECT total(savedTokens) AS savedTokens, total(savedNanoUsd) AS savedNanoUsd, sum(leftRequests) AS leftRequests
       FROM (SELECT ${sums} FROM requests WHERE ${where} UNION ALL SELECT ${sums} FROM journal WHERE state <> 0 AND ${where})`,
    )
    .get({ first: requestIdAt(since), since, projectId: projectId ?? null });
  return row ?? { savedTokens: 0, savedNanoUsd: 0, leftRequests: 0 };
}
