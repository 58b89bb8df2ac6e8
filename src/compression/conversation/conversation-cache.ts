import type { Level, Message } from './compress.ts';
import { Conversation } from './conversation.ts';

/** Characters of text that are kept; with what is known of them a conversation takes some five times as much memory. */
const MAX_SIZE = 4_000_000;
/** A client that rewrites its last messages on each turn (reminders that move along) forks no further back. */
const TAIL = 4;

/**
 * The conversations that were compressed last. One that goes on is compressed from where it had come to, which is
 * what makes agents cheap: they send all of it with every turn. What comes out is the same without it.
 */
export class ConversationCache {
  /** The one used last comes first. */
  #kept: Conversation[] = [];
  readonly #maxSize: number;

  constructor(maxSize = MAX_SIZE) {
    this.#maxSize = maxSize;
  }

  /** The messages, each compressed. */
  compress(messages: readonly Message[], level: Level): Conversation {
    const conversation = this.#begin(messages, level);
    for (const message of messages.slice(conversation.steps.length)) conversation.add(message);
    this.#kept.unshift(conversation);
    this.#trim();
    return conversation;
  }

  #begin(messages: readonly Message[], level: Level): Conversation {
    let found: Conversation | undefined;
    let most = 0;
    for (const kept of this.#kept) {
      const shared = kept.level === level ? kept.sharedWith(messages) : 0;
      if (shared > most) [found, most] = [kept, shared];
    }
    if (!found) return new Conversation(level);
    const isWhole = most === found.steps.length;
    // Where another conversation has only begun alike, that one is kept beside it.
    if (most >= found.steps.length - TAIL) this.#kept = this.#kept.filter((kept) => kept !== found);
    return isWhole ? found : new Conversation(level, found.steps.slice(0, most));
  }

  #trim(): void {
    let size = 0;
    this.#kept = this.#kept.filter((kept) => {
      const fits = size + kept.size <= this.#maxSize;
      if (fits) size += kept.size;
      return fits;
    });
  }
}
