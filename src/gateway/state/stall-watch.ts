import { errors } from '../../network/undici.ts';
import { MAX_CALL_MS } from '../../pricing/price-dates.ts';
import { createIndexedList, type Indexed } from './access/indexed-list.ts';

/** Longest silence allowed of a provider. */
export interface StallLimits {
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
}

/** A call whose progress is watched. */
export interface WatchedCall extends Indexed {
  /** Set by the call whenever the provider sends something; reset by the watch. */
  hasProgress: boolean;
  /** The client reads slowly, so gw has paused the provider. */
  paused: boolean;
  /** The provider has sent the head of its answer. */
  answered: boolean;
  /** Used by the watch: number of checks so far. */
  checks: number;
  /** Used by the watch: number of checks in a row without progress. */
  idleChecks: number;
  /** Ends the call. */
  stall(error: Error): void;
}

/**
 * Ends calls whose provider has stopped sending, and those that last longer than holds look ahead for prices. One
 * interval checks all calls: separate timers, two or three per request, made up a tenth of a request's garbage.
 */
export type StallWatch = ReturnType<typeof createStallWatch>;

const CHECKS_PER_LIMIT = 8;
const MIN_INTERVAL_MS = 10;
const MAX_INTERVAL_MS = 500;
/** A peer that is there sends again what was lost at least every two minutes (RFC 6298, 5.7 and tcp(7)). */
const SIGN_OF_LIFE_MS = 150_000;

export function createStallWatch({ firstByteTimeoutMs, idleTimeoutMs }: StallLimits) {
  const wantedMs = Math.min(firstByteTimeoutMs, idleTimeoutMs) / CHECKS_PER_LIMIT;
  const intervalMs = Math.min(Math.max(wantedMs, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
  const calls = createIndexedList<WatchedCall>();
  let timer: NodeJS.Timeout | undefined;

  function checkAll(): void {
    for (const call of calls) check(call);
    if (calls.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  /** Counts checks instead of time, so that a blocked event loop ends no call. */
  function check(call: WatchedCall): void {
    call.checks++;
    if (call.checks * intervalMs >= MAX_CALL_MS) {
      end(call);
      return;
    }
    if (call.hasProgress || call.paused) {
      call.hasProgress = false;
      call.idleChecks = 0;
      return;
    }
    call.idleChecks++;
    if (call.idleChecks * intervalMs >= limitOf(call)) end(call);
  }

  const limitOf = (call: WatchedCall) => (call.answered ? idleTimeoutMs : firstByteTimeoutMs);

  function end(call: WatchedCall): void {
    call.stall(call.answered ? new errors.BodyTimeoutError() : new errors.HeadersTimeoutError());
  }

  return {
    add(call: WatchedCall) {
      calls.add(call);
      timer ??= setInterval(checkAll, intervalMs).unref();
    },
    remove: calls.remove,
    /** Allows the running calls less silence, because their peers have probably given them up. */
    hurry() {
      for (const call of calls) {
        call.hasProgress = false;
        const checks = Math.ceil((limitOf(call) - SIGN_OF_LIFE_MS) / intervalMs);
        call.idleChecks = Math.max(call.idleChecks, checks);
      }
    },
  };
}
