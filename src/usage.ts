const NONE = {
  /** All input: uncached, read from the cache, and written to the cache. */
  inputTokens: 0,
  /** Input read from the provider's prompt cache. */
  cachedInputTokens: 0,
  /** Input written to the provider's prompt cache with its default (5-minute) lifetime. */
  cacheWriteTokens: 0,
  /** Input written to the cache with a 1-hour lifetime; not included in `cacheWriteTokens`. */
  cacheWrite1hTokens: 0,
  /** Audio input that was not read from the cache. */
  audioInputTokens: 0,
  /** Audio in `cachedInputTokens`. */
  cachedAudioInputTokens: 0,
  /** Images that were not read from the cache. */
  imageInputTokens: 0,
  /** Images in `cachedInputTokens`. */
  cachedImageInputTokens: 0,
  /** All output, reasoning included. */
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
  /** Image output. If the provider doesn't split its output tokens, all except reasoning and audio count as images. */
  imageOutputTokens: 0,
};

/**
 * Token counts of an answer, independent of the provider's format. `inputTokens` and `outputTokens` are totals; the
 * other counts are parts of them.
 */
export type TokenUsage = typeof NONE;

export const NO_USAGE: TokenUsage = Object.freeze(NONE);
