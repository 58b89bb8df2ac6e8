/** The cache writes of a request: none, for the provider's default lifetime, or for an hour as well. */
export type CacheWrites = 'none' | 'default' | '1h';

/** The kinds of price that can apply to a request. A kind that can't be ruled out counts. */
export interface PriceProfile {
  cacheWrites: CacheWrites;
  audioInput: boolean;
  audioOutput: boolean;
  /** The prices for long inputs. */
  longInput: boolean;
}

/** Everything that a price card lists. */
export const ANY_PRICE: PriceProfile = Object.freeze({
  cacheWrites: '1h',
  audioInput: true,
  audioOutput: true,
  longInput: true,
});

/** Text in and out, without cache writes. */
export const PLAIN_TEXT: PriceProfile = Object.freeze({
  cacheWrites: 'none',
  audioInput: false,
  audioOutput: false,
  longInput: true,
});

const WRITES: readonly CacheWrites[] = ['none', 'default', '1h'];

/** The dearer of two kinds of cache writes. */
export function longerWrites(a: CacheWrites, b: CacheWrites): CacheWrites {
  return WRITES.indexOf(a) < WRITES.indexOf(b) ? b : a;
}

/** A small integer, different for each profile. */
export function profileIndex({ cacheWrites, audioInput, audioOutput, longInput }: PriceProfile): number {
  const flags = (audioInput ? 1 : 0) + (audioOutput ? 2 : 0) + (longInput ? 4 : 0);
  return WRITES.indexOf(cacheWrites) * 8 + flags;
}
