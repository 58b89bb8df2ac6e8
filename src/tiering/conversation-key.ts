import { createHash } from 'node:crypto';
import { type ScoredMessage, textOf } from './score.ts';

export interface ConversationIdentity {
  /** Value of the client's session header, if it sent one. */
  sessionId?: string;
  promptCacheKey?: string;
  messages: readonly ScoredMessage[];
  tools?: unknown;
}

/** A key shared by all turns of a conversation: the client's id, else a hash of the conversation's start. */
export function conversationKey({
  sessionId,
  promptCacheKey,
  messages,
  tools,
}: ConversationIdentity): string {
  // Hashed, because keys are stored, and a client's id may be long and identify a person.
  if (sessionId) return `session:${hashOf(sessionId)}`;
  if (promptCacheKey) return `cache:${hashOf(promptCacheKey)}`;
  const firstUser = messages.find((message) => message.role === 'user');
  const system = messages.filter(({ role }) => role === 'system' || role === 'developer');
  const start = [system.map(({ content }) => textOf(content)), tools ?? null, textOf(firstUser?.content)];
  return `start:${hashOf(JSON.stringify(start))}`;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
