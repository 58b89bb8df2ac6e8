import type { Clock } from '../clock.ts';

/** The authority's time, by what was last heard of it. Between two answers it never moves back. */
export interface TeamClock {
  /** UTC ms. */
  now(): number;
  /** The authority's time in an answer that has just come. */
  heard(authorityMs: number): void;
  /** How far this machine's wall clock is behind the authority's, ms; undefined: nothing heard yet. */
  offsetMs(): number | undefined;
}

/**
 * Goes by the wall clock and by the monotonic one, whichever is later: a wall clock that is put back does not bring a
 * past period again, and a machine that slept has the time that passed. `lastOffsetMs`: what a daemon before this one
 * had heard.
 */
export function createTeamClock(clock: Pick<Clock, 'now' | 'monotonic'>, lastOffsetMs?: number): TeamClock {
  let wallOffset = lastOffsetMs;
  let monotonicOffset = Number.NEGATIVE_INFINITY;
  let latest = Number.NEGATIVE_INFINITY;
  return {
    now() {
      latest = Math.max(latest, clock.now() + (wallOffset ?? 0), clock.monotonic() + monotonicOffset);
      return latest;
    },
    heard(authorityMs) {
      wallOffset = authorityMs - clock.now();
      monotonicOffset = authorityMs - clock.monotonic();
      // The authority is right: a wall clock that was years ahead must not be believed for years.
      latest = authorityMs;
    },
    offsetMs: () => wallOffset,
  };
}
