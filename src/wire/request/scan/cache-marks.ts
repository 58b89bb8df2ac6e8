import { bytesAt } from '../../../json/bytes-at.ts';
import type { SeeString } from '../../../json/scan.ts';
import type { CacheWrites } from '../../../pricing/price-profile.ts';

const KEY = Buffer.from('"cache_control"');
const LETTER_C = 0x63;
/** Longer values are taken for the dearest: a mark has at most three short fields. */
const MAX_MARK_BYTES = 200;

/** A mark's value up to its first closing bracket, if it is the default lifetime in its usual spelling. */
const DEFAULT_MARK =
  /^\s*:\s*\{\s*(?:(?:"type"\s*:\s*"ephemeral"|"ttl"\s*:\s*(?:"5m"|null)|"scope"\s*:\s*"\w*")\s*(?:,\s*(?!\})|(?=\})))*\}/;
const NO_MARK = /^\s*:\s*null\b/;
/** The word stands in a list or as a value, not as a key. */
const NO_KEY = /^\s*[,\]}]/;

/**
 * Finds out while a body is scanned what cache writes it asks for by `cache_control`, wherever that stands: at the top,
 * in `system`, tools, content blocks or tool results, `before` included. Finds every mark, and takes any unusual spelling for the hour's:
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
export function createMarkReader(before: CacheWrites = 'none'): { see: SeeString; writes(): CacheWrites } {
  let writes = before;
  return {
    see(bytes, start, end) {
      if (bytes[start + 1] !== LETTER_C || writes === '1h') return;
      if (end - start !== KEY.length || !bytesAt(bytes, start, KEY)) return;
      const value = bytes.toString('latin1', end, end + MAX_MARK_BYTES);
      if (NO_MARK.test(value) || NO_KEY.test(value)) return;
      writes = DEFAULT_MARK.test(value) ? 'default' : '1h';
    },
    writes: () => writes,
  };
}
