import type { Clock } from '../clock.ts';
import type { ClockJump } from '../store/database/clock-jumps.ts';

/** Smaller steps are NTP's everyday work. */
const JUMP_MS = 60_000;

export interface ClockWatchOptions {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** The latest time that an earlier process has seen, UTC milliseconds. */
  clockWas: number;
  onJump: (jump: ClockJump) => void;
}

/**
 * Returns a check that compares the system's clock with the time that has passed. A computer that slept seems to have
 * jumped forward: the monotonic clock may stand still meanwhile.
 */
export function createClockWatch({ clock, clockWas, onJump }: ClockWatchOptions): () => void {
  const offset = () => clock.now() - clock.monotonic();
  let last = offset();
  if (clockWas - clock.now() > JUMP_MS) onJump({ at: clock.now(), ms: clock.now() - clockWas });
  return () => {
    const ms = offset() - last;
    last += ms;
    if (Math.abs(ms) > JUMP_MS) onJump({ at: clock.now(), ms: Math.round(ms) });
  };
}
