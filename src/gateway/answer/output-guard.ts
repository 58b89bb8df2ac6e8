import type { Relay } from './relay.ts';

export interface OutputGuardOptions {
  /** All that may be generated: what was held for. */
  maxTokens: number;
  count: (texts: string[]) => Promise<number>;
  /** Called once when more was generated. */
  onReached: () => void;
}

/** How far o200k may count more tokens than the provider's own tokenizer, where that is not public. */
export const UNKNOWN_TOKENIZER_SLACK = 2;

/** The next count waits for at least so many bytes of the stream. */
const MIN_STEP_BYTES = 2_048;

/**
 * Watches a stream for a provider that ignores the limit it was given. No token is shorter than a byte, so nothing is
 * counted before as many bytes have come as tokens were held for; the counting is done in a thread, and next when most
 * of what is left may have come at the pace so far: a handful of times in a stream that keeps to its limit.
 */
export function guardOutput(relay: Relay, { maxTokens, count, onReached }: OutputGuardOptions): void {
  let nextAt = Math.max(maxTokens, MIN_STEP_BYTES);
  let streamed = 0;
  let looking = false;

  /** Counts until the count has caught up with the stream. */
  async function look(): Promise<void> {
    looking = true;
    while (streamed >= nextAt) {
      const at = streamed;
      const tokens = await countReceived();
      if (tokens >= maxTokens) return onReached();
      nextAt = at + Math.max((0.7 * (maxTokens - tokens) * at) / Math.max(tokens, 1), MIN_STEP_BYTES);
    }
    looking = false;
  }

  async function countReceived(): Promise<number> {
    const texts = relay.receivedText();
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    // A count that fails is made again further on; the settlement books no less than what came.
    return bytes < maxTokens ? bytes : count(texts).catch(() => 0);
  }

  relay.onEvents = (streamedBytes) => {
    streamed = streamedBytes;
    // What cannot be read cannot be kept within its limit.
    if (streamed >= nextAt && !looking) look().catch(onReached);
  };
}
