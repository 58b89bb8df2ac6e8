import type { PromptBlock } from '../../wire/request/prompt-block.ts';

/** A prompt that a provider has answered, which may be in its cache. */
export interface CachedPrompt {
  /** The provider and the model, by the provider's name. */
  target: string;
  blocks: readonly PromptBlock[];
  /** The request's body; undefined when it is no longer in memory. */
  bytes: Buffer | undefined;
  inputTokens: number;
  /** Number of its first tokens in the cache once it was answered. */
  cachedTokens: number;
  /** The provider has read from its cache in this session. */
  hasRead: boolean;
  /** How long the cache keeps it after its last use. */
  ttlMs: number;
  /** Monotonic milliseconds: when it was sent, and when its answer began. Before that nobody can read it. */
  sentAt: number;
  /** UTC milliseconds: monotonic time stands still while a machine sleeps. */
  sentTimeMs: number;
  answeredAt: number;
}

/** The last prompts of each session, to tell what the provider's cache could have served. In memory only. */
export type CachedPrompts = ReturnType<typeof createCachedPrompts>;

/** Limit for each session: its agents may work on several threads at once. */
const MAX_PROMPTS = 8;
/** Blocks of all prompts; they take some 200 bytes each, though the prompts of a session share most of theirs. */
const MAX_BLOCKS = 50_000;
/** Bodies that are kept to find the place of a change. */
const MAX_BODIES = 32;
const MAX_BYTES = 8 * 1024 * 1024;

export function createCachedPrompts() {
  // In the order of their last use, the last one at the end.
  const sessions = new Map<string, CachedPrompt[]>();
  const withBytes = new Set<CachedPrompt>();
  let blocks = 0;
  let bytes = 0;

  function forgetBytes(prompt: CachedPrompt): void {
    if (!withBytes.delete(prompt)) return;
    bytes -= prompt.bytes?.length ?? 0;
    prompt.bytes = undefined;
  }

  function drop(prompt: CachedPrompt): void {
    blocks -= prompt.blocks.length;
    forgetBytes(prompt);
  }

  return {
    /** The prompts of a session, the oldest first. */
    of: (session: string): readonly CachedPrompt[] => sessions.get(session) ?? NO_PROMPTS,
    /** `replaced`: an earlier prompt that this one continues. */
    keep(session: string, prompt: CachedPrompt, replaced: CachedPrompt | undefined) {
      const prompts = sessions.get(session) ?? [];
      const place = replaced ? prompts.indexOf(replaced) : prompts.length < MAX_PROMPTS ? -1 : 0;
      for (const old of place < 0 ? [] : prompts.splice(place, 1)) drop(old);
      prompts.push(prompt);
      sessions.delete(session);
      sessions.set(session, prompts);
      blocks += prompt.blocks.length;
      bytes += prompt.bytes?.length ?? 0;
      withBytes.add(prompt);
      for (const oldest of withBytes) {
        if (withBytes.size <= MAX_BODIES && bytes <= MAX_BYTES) break;
        forgetBytes(oldest);
      }
      for (const [name, oldest] of sessions) {
        if (blocks <= MAX_BLOCKS) break;
        sessions.delete(name);
        oldest.forEach(drop);
      }
    },
  };
}

const NO_PROMPTS: readonly CachedPrompt[] = [];
