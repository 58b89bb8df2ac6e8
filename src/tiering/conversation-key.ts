import { createHash } from 'node:crypto';
import { type ScoredMessage, textOf } from './prompt.ts';

export interface ConversationSigns {
  /** The client's own session header, if it sent one. */
  sessionId?: string;
  promptCacheKey?: string;
  messages: readonly ScoredMessage[];
  tools?: unknown;
}

/** The same for every turn of a conversation: what the client says it is, else a hash of how it began. */
export function conversationKey({ sessionId, promptCacheKey, messages, tools }: ConversationSigns): string {
  // Clients choose these names, of any length and perhaps after people; and keys are stored.
  if (sessionId) return `session:${hashOf(sessionId)}`;
  if (promptCacheKey) return `cache:${hashOf(promptCacheKey)}`;
  const firstUser = messages.find((message) => message.role === 'user');
  const system = messages.filter(({ role }) => role === 'system' || role === 'developer');
  const start = [system.map(({ content }) => textOf(content)), tools ?? null, textOf(firstUser?.content)];
  return `start:${hashOf(JSON.stringify(start))}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** A number in [0,1) that a conversation keeps: its place among equals. */
export function placeOf(key: string): number {
  return createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32;
}
