/** How far o200k may count more tokens than the provider's own tokenizer, when that is not public. */
export const UNKNOWN_TOKENIZER_SLACK = 2;

/** The next count waits for at least so many bytes of the stream. */
const MIN_STEP_BYTES = 2_048;

export interface OutputGuardOptions {
  /** The output that was held for. */
  maxTokens: number;
  /** All text of the stream so far. */
  receivedText: () => string[];
  /** Counts tokens; may take a while. */
  count: (texts: string[]) => Promise<number>;
  /** Called once when more than `maxTokens` was generated. */
  onReached: () => void;
}

/**
 * Watches a stream for a provider that ignores its output limit; to be called with the size of the stream after each
 * run of events. No token is shorter than a byte, so nothing is counted before `maxTokens` bytes have come. The next
 * count is made when 70 % of what is left may have come at the pace so far: a handful of counts in a stream that keeps
 * to its limit.
 */
export function createOutputGuard({
  maxTokens,
  receivedText,
  count,
  onReached,
}: OutputGuardOptions): (streamedBytes: number) => void {
  let nextAt = Math.max(maxTokens, MIN_STEP_BYTES);
  let streamed = 0;
  let isCounting = false;

  /** Counts until the count has caught up with the stream. */
  async function catchUp(): Promise<void> {
    isCounting = true;
    while (streamed >= nextAt) {
      const at = streamed;
      const tokens = await countReceived();
      if (tokens >= maxTokens) return onReached();
      nextAt = at + Math.max((0.7 * (maxTokens - tokens) * at) / Math.max(tokens, 1), MIN_STEP_BYTES);
    }
    isCounting = false;
  }

  async function countReceived(): Promise<number> {
    const texts = receivedText();
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    // A count that fails is made again further on; the settlement books no less than what came.
    return bytes < maxTokens ? bytes : count(texts).catch(() => 0);
  }

  return (streamedBytes) => {
    streamed = streamedBytes;
    // A stream that can't be counted can't be kept within its limit.
    if (streamed >= nextAt && !isCounting) catchUp().catch(onReached);
  };
}
