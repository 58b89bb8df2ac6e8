import { errors } from './undici.ts';

/** How long a provider may be silent. */
export interface StallLimits {
  firstByteTimeoutMs: number;
  idleTimeoutMs: number;
}

/** A call as the watch sees it. */
export interface WatchedCall {
  /** Set whenever something came from the provider; the watch takes it back. */
  moved: boolean;
  /** The client is slow, and the provider waits for it. */
  paused: boolean;
  answered: boolean;
  /** The watch's own: for how many looks nothing has moved, and where it stands in the list. */
  quietLooks: number;
  place: number;
  /** Ends the call. */
  stall(error: Error): void;
}

/**
 * Ends calls of a provider that has fallen silent. All are looked at together now and then: timers of their own, two
 * or three a request, were a tenth of its garbage.
 */
export interface StallWatch {
  add(call: WatchedCall): void;
  remove(call: WatchedCall): void;
}

const LOOKS_PER_LIMIT = 8;
const MIN_LOOK_MS = 10;
const MAX_LOOK_MS = 500;

export function createStallWatch({ firstByteTimeoutMs, idleTimeoutMs }: StallLimits): StallWatch {
  const shortest = Math.min(firstByteTimeoutMs, idleTimeoutMs) / LOOKS_PER_LIMIT;
  const everyMs = Math.min(Math.max(shortest, MIN_LOOK_MS), MAX_LOOK_MS);
  // Not a Set: the tables that it outgrows point at each other and at what was in them, and once one of them is old,
  // the garbage of every request grows old with it.
  const calls: WatchedCall[] = [];
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    for (const call of [...calls]) check(call);
    if (calls.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  /** Counted in looks, so that an event loop that was held up makes nobody late. */
  function check(call: WatchedCall): void {
    if (call.moved || call.paused) {
      call.moved = false;
      call.quietLooks = 0;
      return;
    }
    call.quietLooks++;
    const limitMs = call.answered ? idleTimeoutMs : firstByteTimeoutMs;
    if (call.quietLooks * everyMs < limitMs) return;
    call.stall(call.answered ? new errors.BodyTimeoutError() : new errors.HeadersTimeoutError());
  }

  return {
    add(call) {
      call.place = calls.push(call) - 1;
      timer ??= setInterval(look, everyMs).unref();
    },
    remove(call) {
      if (calls[call.place] !== call) return;
      const last = calls.pop();
      if (!last || last === call) return;
      calls[call.place] = last;
      last.place = call.place;
    },
  };
}
