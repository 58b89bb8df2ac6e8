/** Limits the bytes of request bodies in memory, over all running requests. */
export interface BodyMemory {
  /**
   * Acquires `bytes` more for a body that holds `own` bytes; false if that exceeds the limit. A body that is alone in
   * memory may always grow: its own size has another limit.
   */
  acquire(bytes: number, own: number): boolean;
  release(bytes: number): void;
}

/** `maxBytes` is a function because the setting can change while gw runs. */
export function createBodyMemory(maxBytes: () => number): BodyMemory {
  let used = 0;
  return {
    acquire(bytes, own) {
      if (used > own && used + bytes > maxBytes()) return false;
      used += bytes;
      return true;
    },
    release(bytes) {
      used -= bytes;
    },
  };
}
