/**
 * Token counts of one answer, as gw books them whatever the provider's own shape.
 * `inputTokens` and `outputTokens` are totals; the other counts are parts of them.
 */
export interface TokenUsage {
  /** All input: uncached + read from cache + written to cache. */
  inputTokens: number;
  /** Input read from the provider's prompt cache. */
  cachedInputTokens: number;
  /** Input written to the provider's prompt cache with its default (5 minute) life. */
  cacheWriteTokens: number;
  /** Input written to the cache with a 1 hour life; not included in `cacheWriteTokens`. */
  cacheWrite1hTokens: number;
  /** Audio among the input that was not read from the cache. */
  audioInputTokens: number;
  /** Audio among `cachedInputTokens`. */
  cachedAudioInputTokens: number;
  /** All output, reasoning included. */
  outputTokens: number;
  reasoningTokens: number;
  audioOutputTokens: number;
}

export const NO_USAGE: TokenUsage = Object.freeze({
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  cachedAudioInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
});
