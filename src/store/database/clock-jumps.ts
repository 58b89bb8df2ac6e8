import type { Db } from './open.ts';

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
