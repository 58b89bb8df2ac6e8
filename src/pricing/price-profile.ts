/** Cache writes of a request: none, with the provider's default lifetime, or also with a 1-hour lifetime. */
export type CacheWrites = 'none' | 'default' | '1h';

/** The kinds of price that may apply to a request. A kind that can't be ruled out is included. */
export interface PriceProfile {
  cacheWrites: CacheWrites;
  audioInput: boolean;
  audioOutput: boolean;
  /** Prices for long inputs may apply. */
  longInput: boolean;
}

/** All prices of a card. */
export const ANY_PRICE: PriceProfile = Object.freeze({
  cacheWrites: '1h',
  audioInput: true,
  audioOutput: true,
  longInput: true,
});

/** Text input and output, without cache writes. */
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

/** A small integer, unique for each profile. */
export function profileIndex({ cacheWrites, audioInput, audioOutput, longInput }: PriceProfile): number {
  const flags = (audioInput ? 1 : 0) + (audioOutput ? 2 : 0) + (longInput ? 4 : 0);
  return WRITES.indexOf(cacheWrites) * 8 + flags;
}
