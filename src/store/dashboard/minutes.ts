import type { Span } from '../../calendar.ts';
import { requestIdAt, timeOfRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { BILLED_NANO_USD } from '../ledger/record.ts';

const MINUTE_MS = 60_000;
/** A request is recorded when it ends, in the minute in which it came in: most end within this time. */
const OPEN_MINUTES = 3;
const IDS_PER_MINUTE = requestIdAt(timeOfRequestId(0) + MINUTE_MS);

/**
 * Reads what was spent in each minute of a span. Reading an hour of requests at each tick would cost more than the rest
 * of the dashboard, so a tick reads the last minutes, and the whole span once a minute.
 */
export function createMinuteReader(db: Db): (span: Span, now: number) => NanoUsd[] {
  const select = db.prepare<{ first: number; from: number; to: number }, { minute: number; cost: number }>(
    `SELECT (id - CAST(@first AS INTEGER)) / ${IDS_PER_MINUTE} AS minute, sum(${BILLED_NANO_USD}) AS cost
     FROM request_log WHERE id >= @from AND id < @to GROUP BY 1`,
  );
  let cached: NanoUsd[] = [];
  let cachedStart = 0;
  let completeAt = 0;
  return ({ start, end }, now) => {
    const isComplete = start === cachedStart && now - completeAt < MINUTE_MS && now >= completeAt;
    if (!isComplete) {
      cached = Array.from({ length: Math.ceil((end - start) / MINUTE_MS) }, () => 0);
      cachedStart = start;
      completeAt = now;
    }
    const current = Math.floor((now - start) / MINUTE_MS);
    const from = isComplete ? Math.max(0, current + 1 - OPEN_MINUTES) : 0;
    cached.fill(0, from);
    const rows = select.all({
      first: requestIdAt(start),
      from: requestIdAt(start + from * MINUTE_MS),
      to: requestIdAt(end),
    });
    for (const { minute, cost } of rows) cached[minute] = cost;
    return [...cached];
  };
}
