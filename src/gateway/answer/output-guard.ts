/** Factor by which o200k may overcount the tokens of a model whose tokenizer is not public. */
export const UNKNOWN_TOKENIZER_SLACK = 2;

/** Fewest bytes of the stream between two counts. */
const MIN_STEP_BYTES = 2_048;

export interface OutputGuardOptions {
  /** The output tokens that the hold pays for. */
  maxTokens: number;
  /** All text of the stream so far. */
  receivedText: () => string[];
  /** Counts tokens; may take a while. */
  count: (texts: string[]) => Promise<number>;
  /** Called once when more than `maxTokens` was generated. */
  onReached: () => void;
}

/**
 * Watches for a provider that ignores the output limit. Call the returned function with the stream's size after each
 * run of events. No token is shorter than a byte, so the first count waits for `maxTokens` bytes. Each later count waits
 * until 70 % of the remaining tokens may have arrived at the rate so far. A stream within its limit takes a handful of
 * counts.
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

  /** Counts again as long as the stream has passed the next count's size. */
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
    // A failed count is repeated later in the stream. The settlement counts everything that arrived.
    return bytes < maxTokens ? bytes : count(texts).catch(() => 0);
  }

  return (streamedBytes) => {
    streamed = streamedBytes;
    // A stream that can't be counted can't be kept within its limit.
    if (streamed >= nextAt && !isCounting) catchUp().catch(onReached);
  };
}
