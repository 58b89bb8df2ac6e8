import { setImmediate } from 'node:timers/promises';
import { type RequestId, requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { idsBefore } from '../database/id-range.ts';
import type { Db } from '../database/open.ts';
import { IS_BILLED, OUTCOMES, SOURCES } from '../ledger/record.ts';

/** What a budget would have seen of a request that has ended. */
export interface PastRequest {
  id: RequestId;
  keyId: number;
  agentId: number;
  sessionId: number;
  /** When it came in. UTC milliseconds. */
  startedAt: number;
  /** When it was held, or refused. UTC milliseconds. */
  askedAt: number;
  settledAt: number;
  /** What it needed at most, as it was sent. */
  needNanoUsd: NanoUsd;
  /** Whether `needNanoUsd` is what the record says; else it is what was held or spent. */
  isNeedKnown: boolean;
  costNanoUsd: NanoUsd;
  /** A budget refused it: what it would have cost isn't known. */
  wasBlocked: boolean;
}

interface Row {
  id: RequestId;
  startedAt: number;
  keyId: number;
  agentId: number;
  sessionId: number;
  outcome: number;
  need: NanoUsd;
  bound: number;
  hold: NanoUsd;
  cost: NanoUsd;
  heldUs: number | null;
  endedMs: number;
}

const PAGE = 2_000;
const COLUMNS = `id, at AS startedAt, key_id AS keyId, agent_id AS agentId, session_id AS sessionId, outcome,
  need_input_nano_usd + need_output_nano_usd + need_fees_nano_usd AS need, need_input_bound AS bound,
  hold_nano_usd AS hold, cost_nano_usd AS cost, held_us AS heldUs, coalesce(settled_ms, duration_ms) AS endedMs`;

/**
 * A project's requests that came in from `since` on and before `until`, in that order, a page at a time: in between,
 * the daemon serves requests. Imported requests and those that a subscription covers count in no budget.
 */
export async function* pastRequests(
  db: Db,
  { projectId, since, until }: { projectId: number; since: number; until: number },
): AsyncGenerator<PastRequest[]> {
  const where = `project_id = @projectId AND id > @after AND id < ${idsBefore(until)} AND at >= @since AND at < @until AND source = ${SOURCES.gw} AND ${IS_BILLED}
    AND (outcome = ${OUTCOMES.blocked} OR held_us IS NOT NULL OR hold_nano_usd > 0 OR cost_nano_usd > 0)`;
  const select = db.prepare<[Record<string, number>], Row>(
    `SELECT * FROM (SELECT ${COLUMNS} FROM requests INDEXED BY requests_of_project WHERE ${where} ORDER BY id LIMIT ${PAGE})
     UNION ALL SELECT * FROM (SELECT ${COLUMNS} FROM journal WHERE state <> 0 AND ${where} ORDER BY id LIMIT ${PAGE})
     ORDER BY id LIMIT ${PAGE}`,
  );
  for (let after = requestIdAt(since) - 1; ; ) {
    const rows = select.all({ projectId, after, since: Math.ceil(since), until: Math.ceil(until) });
    yield rows.map(pastRequest);
    const last = rows.at(-1);
    if (rows.length < PAGE || !last) return;
    after = last.id;
    await setImmediate();
  }
}

function pastRequest(row: Row): PastRequest {
  const { startedAt } = row;
  const settledAt = startedAt + row.endedMs;
  const wasBlocked = row.outcome === OUTCOMES.blocked;
  const heldAt = row.heldUs === null ? startedAt : Math.round(startedAt + row.heldUs / 1_000);
  const isNeedKnown = row.bound !== 0;
  return {
    id: row.id,
    keyId: row.keyId,
    agentId: row.agentId,
    sessionId: row.sessionId,
    startedAt,
    askedAt: wasBlocked ? settledAt : heldAt,
    settledAt,
    needNanoUsd: isNeedKnown ? row.need : Math.max(row.hold, row.cost),
    isNeedKnown,
    costNanoUsd: row.cost,
    wasBlocked,
  };
}
