import { setImmediate } from 'node:timers/promises';
import { type RequestId, requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { idsBefore } from '../database/id-range.ts';
import type { Db } from '../database/open.ts';
import { type CountedRequests, countedConditions } from '../ledger/counted-requests.ts';
import { IS_BILLED, OUTCOMES, SOURCES } from '../ledger/record.ts';

/** An ended request, as a budget would have seen it. */
export interface PastRequest {
  id: RequestId;
  keyId: number;
  agentId: number;
  sessionId: number;
  /** When it came in. UTC microseconds, as all times here. */
  startedUs: number;
  /** When it was held, or refused: in microseconds, in the order of the ledger's writes. */
  askedUs: number;
  settledUs: number;
  /** Its worst case, as it was sent. */
  needNanoUsd: NanoUsd;
  /** Whether `needNanoUsd` is what the record says; else it is what was held or spent. */
  isNeedKnown: boolean;
  costNanoUsd: NanoUsd;
  /** A budget refused it: what it would have cost isn't known. */
  wasBlocked: boolean;
  /** The refusals that the record stands for; 1 for any other. */
  count: number;
}

/** As an array: named columns of a million rows take seconds. */
type Row = [
  id: RequestId,
  startedAt: number,
  keyId: number,
  agentId: number,
  sessionId: number,
  outcome: number,
  need: NanoUsd,
  bound: number,
  hold: NanoUsd,
  cost: NanoUsd,
  admittedUs: number,
  settledUs: number,
  folded: number,
];

const PAGE = 2_000;
/** Records of gw 0.1 don't say in which order the ledger wrote them: whole milliseconds are near. */
const COLUMNS = `id, at, key_id, agent_id, session_id, outcome,
  need_input_nano_usd + need_output_nano_usd + need_fees_nano_usd, need_input_bound, hold_nano_usd, cost_nano_usd,
  coalesce(admitted_us, (held_us + 500) / 1000 * 1000, 0), coalesce(settled_us, 1000 * coalesce(settled_ms, duration_ms)), folded`;

/**
 * A project's requests, those that a budget counts, that came in from `since` on and before `until`, in that order, a page at a time: in between,
 * the daemon serves requests. Imported requests and those that a subscription covers count in no budget.
 */
export async function* pastRequests(
  db: Db,
  { until, ...counted }: CountedRequests & { until: number },
): AsyncGenerator<PastRequest[]> {
  const { since } = counted;
  const { where: isCounted, parameters } = countedConditions(db, counted);
  const where = `${isCounted} AND id > @after AND id < ${idsBefore(until)} AND at >= @since AND at < @until AND source = ${SOURCES.gw} AND ${IS_BILLED}
    AND (outcome = ${OUTCOMES.blocked} OR held_us IS NOT NULL OR hold_nano_usd > 0 OR cost_nano_usd > 0)`;
  const INDEX = counted.projectIds?.length === 1 ? 'INDEXED BY requests_of_project' : 'NOT INDEXED';
  // SQLite would sort each page in a table of its own.
  const select = db
    .prepare<[Record<string, number | string>], Row>(`
      SELECT * FROM (SELECT ${COLUMNS} FROM requests ${INDEX} WHERE ${where} ORDER BY id LIMIT ${PAGE})
      UNION ALL SELECT * FROM (SELECT ${COLUMNS} FROM journal WHERE state <> 0 AND ${where} ORDER BY id LIMIT ${PAGE})`)
    .raw();
  for (let after = requestIdAt(since) - 1; ; ) {
    const rows = select.all({ ...parameters, after, since: Math.ceil(since), until: Math.ceil(until) });
    const page = rows
      .map(pastRequest)
      .sort((a, b) => a.id - b.id)
      .slice(0, PAGE);
    yield page;
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    after = last.id;
    await setImmediate();
  }
}

function pastRequest(row: Row): PastRequest {
  const [
    id,
    startedAt,
    keyId,
    agentId,
    sessionId,
    outcome,
    need,
    bound,
    hold,
    costNanoUsd,
    admittedUs,
    endedUs,
    folded,
  ] = row;
  const startedUs = startedAt * 1_000;
  const settledUs = startedUs + endedUs;
  const wasBlocked = outcome === OUTCOMES.blocked;
  const isNeedKnown = bound !== 0;
  return {
    id,
    keyId,
    agentId,
    sessionId,
    startedUs,
    askedUs: wasBlocked ? settledUs : startedUs + admittedUs,
    settledUs,
    needNanoUsd: isNeedKnown ? need : Math.max(hold, costNanoUsd),
    isNeedKnown,
    costNanoUsd,
    wasBlocked,
    count: 1 + folded,
  };
}
