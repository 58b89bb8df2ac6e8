import { sharedLength } from './bytes.ts';

/** An earlier text with a common prefix. */
export interface Earlier<T> {
  entry: T;
  /** Length of the common prefix in bytes. */
  shared: number;
}

/** Cached scans of the latest bodies. The bytes that a turn shares with the turn before are not scanned again. */
export interface RecentTexts<T> {
  /**
   * The entry with the longest common prefix; undefined if none is long enough. `like`: what another store of the same
   * texts has found, so that they are not compared again.
   */
  find(bytes: Buffer, like?: Earlier<{ bytes: Buffer }>): Earlier<T> | undefined;
  /** Keeps an entry. `earlier` is the result of `find` for it. */
  keep(entry: T, earlier: Earlier<T> | undefined): void;
}

/** Shorter texts are scanned faster than they are compared with all others. */
const MIN_BYTES = 16 * 1024;
const MAX_TEXTS = 16;
const MAX_BYTES = 8 * 1024 * 1024;

function isPrefixShared(a: Buffer, b: Buffer, length: number): boolean {
  if (a.length < length || b.length < length) return false;
  return a.compare(b, 0, length, 0, length) === 0;
}

/** Keeps up to 16 texts and 8 MB. */
export function createRecentTexts<T extends { bytes: Buffer }>(): RecentTexts<T> {
  // Ordered by last use, most recent last.
  const texts: T[] = [];
  let size = 0;
  /** The last result of `find`, which stages of a request ask for in turn. */
  let last: { bytes: Buffer; found: Earlier<T> | undefined } | undefined;

  function drop(entry: T): void {
    const place = texts.indexOf(entry);
    if (place < 0) return;
    texts.splice(place, 1);
    size -= entry.bytes.length;
  }

  function search(bytes: Buffer): Earlier<T> | undefined {
    let best: Earlier<T> | undefined;
    for (const entry of texts) {
      const enough = best ? best.shared + 1 : MIN_BYTES;
      // Most texts are of other sessions: one comparison, where the length takes 17.
      if (isPrefixShared(entry.bytes, bytes, enough))
        best = { entry, shared: sharedLength(entry.bytes, bytes) };
    }
    return best;
  }

  return {
    find(bytes, like) {
      if (bytes.length < MIN_BYTES) return undefined;
      const known = like && texts.find((entry) => entry.bytes === like.entry.bytes);
      if (known) return { entry: known, shared: like.shared };
      if (last?.bytes === bytes) return last.found;
      const found = search(bytes);
      // A body that is refused later would be held until the next one.
      if (bytes.length <= MAX_BYTES) last = { bytes, found };
      return found;
    },
    keep(entry, earlier) {
      last = undefined;
      const { length } = entry.bytes;
      if (length < MIN_BYTES || length > MAX_BYTES) return;
      // The same session's previous text is obsolete. A text with a short common prefix belongs to another session.
      if (earlier && earlier.shared > earlier.entry.bytes.length / 2) drop(earlier.entry);
      texts.push(entry);
      size += length;
      for (let oldest = texts[0]; oldest && (texts.length > MAX_TEXTS || size > MAX_BYTES); oldest = texts[0])
        drop(oldest);
    },
  };
}
