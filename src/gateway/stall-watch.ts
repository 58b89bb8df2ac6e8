import { errors } from 'undici';

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
  /** For how many looks nothing has moved: the watch's own. */
  quietLooks: number;
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
  const calls = new Set<WatchedCall>();
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    for (const call of calls) check(call);
    if (calls.size > 0) return;
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
      calls.add(call);
      timer ??= setInterval(look, everyMs).unref();
    },
    remove: (call) => calls.delete(call),
  };
}
