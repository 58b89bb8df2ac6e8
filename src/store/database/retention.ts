import { requestIdAt } from '../../ids.ts';
import type { Db } from './open.ts';

/** So many rows go in one step: about a millisecond (measured: 4 us each). */
const ROWS = 250;
const DAY_MS = 86_400_000;
/** The dashboard's month and a replay look back so far, however short requests are kept. */
const EVENTS_MS = 31 * DAY_MS;
/** A window is at most 31 days long, and a clock may have been set back by one. */
const MINUTES_MS = 32 * DAY_MS;

/** Deletes what nobody needs any more, a few rows a call, in the running write transaction; tells if there is more. */
export interface Pruning {
  /**
   * Records of requests that came in longer ago than `keepMs`, the oldest first. What they add up to stays in the
   * rollups. The newest record stays: it tells that the clock was not set back.
   */
  requests(now: number, keepMs: number): boolean;
  /** Deliveries that ended so long ago. */
  deliveries(now: number, keepMs: number): boolean;
  /**
   * Events so old, up to the first that a delivery or a summary still tells of. The newest stays: its sequence number
   * must not be given twice.
   */
  events(now: number, keepMs: number): boolean;
  /** Minutes of rolling budgets that no window reaches and no stored sum holds. */
  minutes(now: number): boolean;
}

export function createPruning(db: Db): Pruning {
  const requests = db.prepare<[number]>(
    `DELETE FROM requests WHERE id IN (SELECT id FROM requests WHERE id < ? ORDER BY id LIMIT ${ROWS})
     AND id < (SELECT max(id) FROM requests)`,
  );
  const deliveries = db.prepare<[number]>(
    `DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE finished_at < ? LIMIT ${ROWS})`,
  );
  const events = db.prepare<[number]>(
    `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events ORDER BY sequence LIMIT ${ROWS})
     AND created_at < ? AND sequence < (SELECT min(needed) FROM (
       SELECT min(coalesce(first_sequence, sequence)) AS needed FROM deliveries
       UNION ALL SELECT min(first_sequence) FROM blocked_summaries WHERE event_count > 0
       UNION ALL SELECT max(sequence) FROM events))`,
  );
  const minutes = db.prepare<{ before: number }>(
    `DELETE FROM budget_periods WHERE (budget_id, start) IN (
       SELECT p.budget_id, p.start FROM budgets b CROSS JOIN budget_periods p ON p.budget_id = b.id
       AND p.start <= iif(b.removed_at IS NULL, min(@before, coalesce(b.window_from, 0)), @before)
       WHERE b.period = 'rolling' AND p.pending_nano_usd = 0 LIMIT ${ROWS})`,
  );
  const isFull = ({ changes }: { changes: number }) => changes === ROWS;
  const beforeEvents = (now: number, keepMs: number) => now - Math.max(keepMs, EVENTS_MS);
  return {
    requests: (now, keepMs) => isFull(requests.run(requestIdAt(now - keepMs))),
    deliveries: (now, keepMs) => isFull(deliveries.run(beforeEvents(now, keepMs))),
    events: (now, keepMs) => isFull(events.run(beforeEvents(now, keepMs))),
    minutes: (now) => isFull(minutes.run({ before: now - MINUTES_MS })),
  };
}
