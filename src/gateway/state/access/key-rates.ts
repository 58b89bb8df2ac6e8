/** Counts the requests of keys that may make so many a minute. Kept in memory: each daemon counts its own. */
export type KeyRates = ReturnType<typeof createKeyRates>;

const MINUTE_MS = 60_000;

/** The times of a key's last requests, as many as it may make in a minute. */
interface Window {
  times: Float64Array;
  /** Index of the oldest. */
  next: number;
}

/** `now`: monotonic milliseconds. */
export function createKeyRates(now: () => number) {
  const windows = new Map<number, Window>();
  return {
    /** Counts a request, and returns 0; or returns the milliseconds until the key may make the next one. */
    take(keyId: number, perMinute: number): number {
      let window = windows.get(keyId);
      if (window?.times.length !== perMinute) {
        window = { times: new Float64Array(perMinute).fill(Number.NEGATIVE_INFINITY), next: 0 };
        windows.set(keyId, window);
      }
      const time = now();
      const waitMs = (window.times[window.next] ?? 0) + MINUTE_MS - time;
      if (waitMs > 0) return waitMs;
      window.times[window.next] = time;
      window.next = (window.next + 1) % perMinute;
      return 0;
    },
  };
}
