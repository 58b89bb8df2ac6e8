import type { Level, Message } from './compress.ts';
import { Conversation } from './conversation.ts';

/** Characters of text to keep. With its state, a conversation takes about five times as much memory. */
const MAX_SIZE = 4_000_000;
/** Clients that rewrite their last messages on each turn (moving reminders) fork within this many messages. */
const TAIL = 4;

/**
 * LRU cache of compressed conversations. Agents resend the whole conversation on every turn; only its new messages
 * are compressed. The output is the same without the cache.
 */
export class ConversationCache {
  /** Most recently used first. */
  #kept: Conversation[] = [];
  readonly #maxSize: number;

  constructor(maxSize = MAX_SIZE) {
    this.#maxSize = maxSize;
  }

  /** Returns the conversation with all messages compressed. */
  compress(messages: readonly Message[], level: Level): Conversation {
    const conversation = this.#begin(messages, level);
    for (const message of messages.slice(conversation.steps.length)) conversation.add(message);
    this.#kept.unshift(conversation);
    this.#trim();
    return conversation;
  }

  #begin(messages: readonly Message[], level: Level): Conversation {
    let best: Conversation | undefined;
    let most = 0;
    for (const candidate of this.#kept) {
      const shared = candidate.level === level ? candidate.sharedWith(messages) : 0;
      if (shared > most) [best, most] = [candidate, shared];
    }
    if (!best) return new Conversation(level);
    const isWhole = most === best.steps.length;
    // A conversation that only shares its beginning with this one is kept as well.
    if (most >= best.steps.length - TAIL) this.#kept = this.#kept.filter((kept) => kept !== best);
    return isWhole ? best : new Conversation(level, best.steps.slice(0, most));
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
