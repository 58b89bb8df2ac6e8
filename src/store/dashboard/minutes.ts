import type { Span } from '../../calendar.ts';
import { requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { BILLED_NANO_USD } from '../ledger/record.ts';

const MINUTE_MS = 60_000;
/** A request is recorded when it ends, in the minute in which it came in: most end within this time. */
const OPEN_MINUTES = 3;

/**
 * Reads what was spent in each minute of a span. Reading an hour of requests at each tick would cost more than the rest
 * of the dashboard, so a tick reads the last minutes, and the whole span once a minute.
 */
export function createMinuteReader(db: Db): (span: Span, now: number) => NanoUsd[] {
  const select = db.prepare<
    Record<'start' | 'first' | 'from' | 'to', number>,
    { minute: number; cost: number }
  >(
    `SELECT (at - CAST(@start AS INTEGER)) / ${MINUTE_MS} AS minute, sum(${BILLED_NANO_USD}) AS cost
     FROM request_log WHERE id >= @first AND at >= @from AND at < @to GROUP BY 1`,
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
      start,
      first: requestIdAt(start + from * MINUTE_MS),
      from: start + from * MINUTE_MS,
      to: end,
    });
    for (const { minute, cost } of rows) cached[minute] = cost;
    return [...cached];
  };
}
