/**
 * Token counts of an answer, independent of the provider's format. `inputTokens` and `outputTokens` are totals; the
 * other counts are parts of them.
 */
export interface TokenUsage {
  /** All input: uncached, read from the cache, and written to the cache. */
  inputTokens: number;
  /** Input read from the provider's prompt cache. */
  cachedInputTokens: number;
  /** Input written to the provider's prompt cache with its default (5-minute) lifetime. */
  cacheWriteTokens: number;
  /** Input written to the cache with a 1-hour lifetime; not included in `cacheWriteTokens`. */
  cacheWrite1hTokens: number;
  /** Audio input that was not read from the cache. */
  audioInputTokens: number;
  /** Audio in `cachedInputTokens`. */
  cachedAudioInputTokens: number;
  /** Images that were not read from the cache. */
  imageInputTokens: number;
  /** Images in `cachedInputTokens`. */
  cachedImageInputTokens: number;
  /** All output, reasoning included. */
  outputTokens: number;
  reasoningTokens: number;
  audioOutputTokens: number;
  /** Image output. If the provider doesn't split its output tokens, all except reasoning and audio count as images. */
  imageOutputTokens: number;
}

export const NO_USAGE: TokenUsage = Object.freeze({
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  cachedAudioInputTokens: 0,
  imageInputTokens: 0,
  cachedImageInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
  imageOutputTokens: 0,
});
