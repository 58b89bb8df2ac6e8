import { sharedLength } from '../../json/shared-length.ts';
import type { EarlierPrompt, PromptBlocks } from '../../wire/request/prompt-block.ts';

/** The last prompts of the sessions that are at work: what a turn shares with the one before is not split again. */
export interface RecentPrompts {
  /** The prompt that begins with the most of these bytes; undefined if none shares enough. */
  find(bytes: Buffer): EarlierPrompt | undefined;
  /** `earlier`: what was found for the prompt. */
  keep(prompt: PromptBlocks, earlier: EarlierPrompt | undefined): void;
}

/** Shorter prompts are split in less time than it takes to compare them with all others. */
const MIN_BYTES = 16 * 1024;
const MAX_PROMPTS = 16;
const MAX_BYTES = 8 * 1024 * 1024;

/** Keeps up to 16 prompts, or 8 MB of them. */
export function createRecentPrompts(): RecentPrompts {
  // In the order of their last use, the last one at the end.
  const kept: PromptBlocks[] = [];
  let size = 0;

  function drop(prompt: PromptBlocks): void {
    const place = kept.indexOf(prompt);
    if (place < 0) return;
    kept.splice(place, 1);
    size -= prompt.bytes.length;
  }

  return {
    find(bytes) {
      let best: EarlierPrompt | undefined;
      for (const prompt of kept) {
        const shared = sharedLength(prompt.bytes, bytes);
        if (shared >= MIN_BYTES && shared > (best?.shared ?? 0)) best = { prompt, shared };
      }
      return best;
    },
    keep(prompt, earlier) {
      const { length } = prompt.bytes;
      if (length < MIN_BYTES || length > MAX_BYTES) return;
      // The session has moved on. A prompt that shares little is that of another session.
      if (earlier && earlier.shared > earlier.prompt.bytes.length / 2) drop(earlier.prompt);
      kept.push(prompt);
      size += length;
      for (let oldest = kept[0]; oldest && (kept.length > MAX_PROMPTS || size > MAX_BYTES); oldest = kept[0])
        drop(oldest);
    },
  };
}
