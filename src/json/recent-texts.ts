import { sharedLength } from './shared-length.ts';

/** A text that begins with the same bytes as another one. */
export interface Earlier<T> {
  entry: T;
  /** How many bytes are the same. */
  shared: number;
}

/** What was found in the last bodies of the sessions that are at work: what a turn shares with the one before is not read again. */
export interface RecentTexts<T> {
  /** The one that begins with the most of these bytes; undefined if none shares enough. */
  find(bytes: Buffer): Earlier<T> | undefined;
  /** `earlier`: what was found for it. */
  keep(entry: T, earlier: Earlier<T> | undefined): void;
}

/** Shorter texts are read in less time than it takes to compare them with all others. */
const MIN_BYTES = 16 * 1024;
const MAX_TEXTS = 16;
const MAX_BYTES = 8 * 1024 * 1024;

/** Keeps up to 16 texts, or 8 MB of them. */
export function createRecentTexts<T extends { bytes: Buffer }>(): RecentTexts<T> {
  // In the order of their last use, the last one at the end.
  const kept: T[] = [];
  let size = 0;

  function drop(entry: T): void {
    const place = kept.indexOf(entry);
    if (place < 0) return;
    kept.splice(place, 1);
    size -= entry.bytes.length;
  }

  return {
    find(bytes) {
      if (bytes.length < MIN_BYTES) return undefined;
      let best: Earlier<T> | undefined;
      for (const entry of kept) {
        const shared = sharedLength(entry.bytes, bytes);
        if (shared >= MIN_BYTES && shared > (best?.shared ?? 0)) best = { entry, shared };
      }
      return best;
    },
    keep(entry, earlier) {
      const { length } = entry.bytes;
      if (length < MIN_BYTES || length > MAX_BYTES) return;
      // The session has moved on. A text that shares little is that of another session.
      if (earlier && earlier.shared > earlier.entry.bytes.length / 2) drop(earlier.entry);
      kept.push(entry);
      size += length;
      for (let oldest = kept[0]; oldest && (kept.length > MAX_TEXTS || size > MAX_BYTES); oldest = kept[0])
        drop(oldest);
    },
  };
}
