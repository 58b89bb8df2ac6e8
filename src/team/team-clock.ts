import type { Clock } from '../clock.ts';

/** The authority's time, from its last answer. Never moves back between answers. */
export type TeamClock = ReturnType<typeof createTeamClock>;

/**
 * Uses the later of the wall clock and the monotonic clock: setting the wall clock back doesn't reopen a past period,
 * and time asleep counts. `lastOffsetMs`: the offset that an earlier daemon saved.
 */
export function createTeamClock(clock: Pick<Clock, 'now' | 'monotonic'>, lastOffsetMs?: number) {
  let wallOffset = lastOffsetMs;
  let monotonicOffset = Number.NEGATIVE_INFINITY;
  let latest = Number.NEGATIVE_INFINITY;
  return {
    /** UTC ms. */
    now(): number {
      latest = Math.max(latest, clock.now() + (wallOffset ?? 0), clock.monotonic() + monotonicOffset);
      return latest;
    },
    /** Sets the authority's time from an answer just received. */
    set(authorityMs: number): void {
      wallOffset = authorityMs - clock.now();
      monotonicOffset = authorityMs - clock.monotonic();
      // The authority wins: a wall clock that was years ahead must not determine the time for years.
      latest = authorityMs;
    },
    /** How far this machine's wall clock is behind the authority's, ms; undefined before the first answer. */
    offsetMs: (): number | undefined => wallOffset,
  };
}
