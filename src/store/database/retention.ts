import type { Db } from './open.ts';

/** Rows deleted in one step: about a millisecond (measured: 4 us a row). */
const ROWS = 250;
const DAY_MS = 86_400_000;
/** The least time that events are kept: the dashboard's month and replays read them. */
const EVENTS_MS = 31 * DAY_MS;
/** The longest window has 31 days; one more for a clock that was set back. */
const MINUTES_MS = 32 * DAY_MS;

/** Deletes old rows, a few a call, within a write transaction. Each function returns whether there may be more. */
export type Pruning = ReturnType<typeof createPruning>;

/**
 * The time to delete by: one that the clock showed a day ago or earlier, and has gone on from. So nothing is deleted because
 * the clock is ahead, unless it stays ahead for a day. The first call goes by the clock. Call it within a write transaction.
 */
export function confirmedTime(db: Db, time: number): number {
  const now = Math.trunc(time);
  const get = db.prepare<[string], number>('SELECT value FROM meta WHERE key = ?').pluck();
  const set = db.prepare<[string, number]>('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  const seen = get.get('retention_seen');
  const confirmed = Math.min(get.get('retention_confirmed') ?? now, now);
  if (seen !== undefined && now >= seen && now < seen + DAY_MS) return confirmed;
  // A time that the clock showed before it was set back confirms nothing.
  const next = seen === undefined || now < seen ? confirmed : seen;
  set.run('retention_seen', now);
  set.run('retention_confirmed', next);
  return next;
}

/**
 * SQL for the events before the first that a delivery or a summary refers to. The newest is kept, so that its sequence
 * number is not reused.
 */
export const IS_UNNEEDED = `sequence < (SELECT min(needed) FROM (
  SELECT min(coalesce(first_sequence, sequence)) AS needed FROM deliveries
  UNION ALL SELECT min(first_sequence) FROM blocked_summaries WHERE event_count > 0
  UNION ALL SELECT max(sequence) FROM events))`;

export function createPruning(db: Db) {
  // Requests are in the order of their times, whatever their ids are of.
  const requests = db.prepare<[number]>(`DELETE FROM requests WHERE id IN (
      SELECT id FROM (SELECT id, at FROM requests ORDER BY id LIMIT ${ROWS}) WHERE at < ?)
    AND id < (SELECT max(id) FROM requests)`);
  const details = db.prepare(`DELETE FROM request_details WHERE id IN (SELECT id FROM request_details
    ORDER BY id LIMIT ${2 * ROWS}) AND id < (SELECT min(id) FROM requests)`);
  const deliveries = db.prepare<[number]>(`DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries
    WHERE finished_at < ? LIMIT ${ROWS})`);
  const events = db.prepare<[number]>(`
    DELETE FROM events WHERE sequence IN (SELECT sequence FROM events ORDER BY sequence LIMIT ${ROWS})
    AND created_at < ? AND ${IS_UNNEEDED}`);
  const minutes = db.prepare<{ before: number }>(`DELETE FROM budget_periods WHERE (budget_id, start) IN (
    SELECT p.budget_id, p.start FROM budgets b CROSS JOIN budget_periods p ON p.budget_id = b.id
    AND p.start <= iif(b.removed_at IS NULL, min(@before, coalesce(b.window_from, 0)), @before)
    WHERE b.period = 'rolling' AND p.pending_nano_usd = 0 LIMIT ${ROWS})`);
  const isFull = ({ changes }: { changes: number }) => changes === ROWS;
  const beforeEvents = (now: number, keepMs: number) => now - Math.max(keepMs, EVENTS_MS);
  return {
    /**
     * Records of requests that came in longer ago than `keepMs`, oldest first. Their sums stay in the rollups. The newest
     * record is kept: `lastRequestId` reads it.
     */
    requests(now: number, keepMs: number): boolean {
      const pruned = requests.run(now - keepMs);
      details.run();
      return isFull(pruned);
    },
    /** Deliveries that ended longer ago than `keepMs`, or 31 days if that is more. */
    deliveries: (now: number, keepMs: number): boolean => isFull(deliveries.run(beforeEvents(now, keepMs))),
    /** Events that are as old, up to the first that a delivery or a summary refers to. */
    events: (now: number, keepMs: number): boolean => isFull(events.run(beforeEvents(now, keepMs))),
    /** Minutes of rolling budgets that are in no window and in no stored sum. */
    minutes: (now: number): boolean => isFull(minutes.run({ before: now - MINUTES_MS })),
  };
}
