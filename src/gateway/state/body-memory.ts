/** How many bytes of requests are in memory, over all that run. */
export interface BodyMemory {
  /**
   * Takes room for so many bytes more of a body that has `own` already; false where there is none. A lone body always
   * has room: its size is bounded apart.
   */
  take(bytes: number, own: number): boolean;
  give(bytes: number): void;
}

/** The bound is asked for each time, as it can change while gw runs. */
export function createBodyMemory(maxBytes: () => number): BodyMemory {
  let used = 0;
  return {
    take(bytes, own) {
      if (used > own && used + bytes > maxBytes()) return false;
      used += bytes;
      return true;
    },
    give(bytes) {
      used -= bytes;
    },
  };
}
