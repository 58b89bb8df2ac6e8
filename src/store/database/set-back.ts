import { requestIdAt, timeOfRequestId } from '../../ids.ts';
import { lastRecordAt, lastRequestId } from './daemons.ts';
import type { Db } from './open.ts';
import { bucketOf } from './usage-bucket.ts';

/** Smaller steps back are NTP's everyday work: they change nothing. */
export const CLOCK_SLACK_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * The columns with times at which something happened, or is due within seconds. In the future they would be the most
 * recent, or wait, until that time comes, so they are brought back with the clock. Other times are only shown.
 */
export const BROUGHT_BACK: readonly (readonly [table: string, column: string])[] = [
  ['sessions', 'first_at'],
  ['sessions', 'last_at'],
  ['imported_sessions', 'first_at'],
  ['imported_sessions', 'last_at'],
  ['sessions', 'runaway_at'],
  ['events', 'created_at'],
  ['deliveries', 'due_at'],
  ['deliveries', 'created_at'],
  ['deliveries', 'attempted_at'],
  ['deliveries', 'finished_at'],
  ['blocked_summaries', 'due_at'],
  ['optimizer_trials', 'last_at'],
  ['optimizer_verdicts', 'at'],
  ['distrusted_bounds', 'at'],
  ['route_health', 'saved_at'],
  ['team_membership', 'synced_at'],
  ['team_membership', 'unreachable_since'],
  ['team_standings', 'heard_at'],
  ['budget_raises', 'created_at'],
  ['keys', 'created_at'],
  ['keys', 'rotated_at'],
  ['asks', 'created_at'],
  ['carried_turns', 'at'],
  ['jobs', 'created_at'],
  ['batch_files', 'created_at'],
  ['limits', 'updated_at'],
  ['limit_history', 'at'],
  ['limit_oddities', 'at'],
];

/** Ends that were chosen in the future by their distance keep it. `from`: SQL for when the end was chosen. */
export const SHIFTED: readonly (readonly [table: string, column: string, from: string])[] = [
  ['budget_raises', 'until', 'created_at'],
  ['keys', 'expires_at', 'max(created_at, coalesce(rotated_at, 0))'],
  ['keys', 'old_until', 'rotated_at'],
  ['asks', 'expires_at', 'created_at'],
  ['jobs', 'expires_at', 'created_at'],
];

/** The latest time that a process on this database has seen, or its newest record has. */
export function latestTime(db: Db): number {
  const stored = db.prepare<[], number>("SELECT value FROM meta WHERE key = 'clock_latest'").pluck().get();
  return Math.max(stored ?? 0, lastRecordAt(db));
}

/** Dates what is in the future to the present, within a write transaction. Budgets are the ledger's (ledger/clock). */
export function bringRecordsBack(db: Db, time: number): void {
  const now = Math.trunc(time);
  for (const table of ['journal', 'requests'])
    db.prepare(`UPDATE ${table} SET ahead_ms = ahead_ms + at - @now WHERE id >= @id AND at > @now`).run({
      now,
      id: requestIdAt(now),
    });
  for (const [table, column, from] of SHIFTED)
    db.prepare(`UPDATE ${table} SET ${column} = ${column} - (${from} - @now) WHERE ${from} > @now`).run({
      now,
    });
  // A secret that was replaced is used for a day (webhooks/sign.ts).
  db.prepare('UPDATE webhook_endpoints SET old_secret_until = @until WHERE old_secret_until > @until').run({
    until: now + DAY_MS,
  });
  for (const [table, column] of BROUGHT_BACK)
    db.prepare(`UPDATE ${table} SET ${column} = @now WHERE ${column} > @now`).run({ now });
  bringUsageBack(db, now);
  const aheadMs = timeOfRequestId(lastRequestId(db)) - now;
  if (aheadMs > 0)
    db.prepare(`INSERT INTO meta (key, value) VALUES ('ids_ahead_ms', ?)
      ON CONFLICT DO UPDATE SET value = max(value, excluded.value)`).run(aheadMs);
}

/** Adds the figures of later hours to the running one. Sums that include any of these are made again. */
function bringUsageBack(db: Db, now: number): void {
  const counters = db
    .prepare<[], string>(`SELECT name FROM pragma_table_info('usage_hours')
      WHERE name NOT IN ('bucket', 'dims_id')`)
    .pluck()
    .all();
  const times = { now, bucket: bucketOf(now) };
  const { changes } = db
    .prepare<typeof times>(
      `INSERT INTO usage_hours (bucket, dims_id, ${counters.join(', ')})
       SELECT @bucket, dims_id, ${counters.map((name) => `sum(${name})`).join(', ')} FROM usage_hours
       WHERE bucket > @now GROUP BY dims_id
       ON CONFLICT DO UPDATE SET ${counters.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`,
    )
    .run(times);
  // The team may have heard of them.
  if (changes > 0)
    db.prepare(`
      INSERT INTO team_usage_dirty (bucket) SELECT DISTINCT h.bucket FROM usage_hours h, team_membership
      WHERE h.bucket > @now OR h.bucket = @bucket ON CONFLICT DO UPDATE SET version = version + 1`).run(
      times,
    );
  db.prepare('DELETE FROM usage_hours WHERE bucket > ?').run(now);
  const day = now - (now % DAY_MS);
  const isSummed = db.prepare("SELECT 1 FROM meta WHERE key = 'usage_summed_until' AND value > ?");
  if (changes === 0 && !isSummed.get(now)) return;
  db.prepare('DELETE FROM usage_sums WHERE start >= ?').run(day);
  db.prepare("UPDATE meta SET value = min(value, ?) WHERE key = 'usage_summed_until'").run(day);
}

/** A step of the system's clock, as gw has noticed it. */
export interface ClockJump {
  /** The time after it, UTC milliseconds. */
  at: number;
  /** Below 0: the clock was set back. */
  ms: number;
}

/** Remembers the last jump. Call it within a write transaction. */
export function recordClockJump(db: Db, { at, ms }: ClockJump): void {
  const set = db.prepare<[string, number]>('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
  set.run('clock_jumped_at', Math.round(at));
  set.run('clock_jumped_ms', Math.round(ms));
}

/** The last jump that a daemon on this database has noticed. */
export function lastClockJump(db: Db): ClockJump | undefined {
  const get = db.prepare<[string], number>('SELECT value FROM meta WHERE key = ?').pluck();
  const [at, ms] = [get.get('clock_jumped_at'), get.get('clock_jumped_ms')];
  return at === undefined || ms === undefined ? undefined : { at, ms };
}
