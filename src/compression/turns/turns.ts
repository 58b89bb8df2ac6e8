import { createHash } from 'node:crypto';
import { roleOf, textsOf } from '../prompt/message.ts';
import { chatTurns } from './chat.ts';
import { messagesTurns } from './messages.ts';
import { responsesTurns } from './responses.ts';
import type { Turn } from './turn.ts';

/** The API that a conversation is written for: chat completions, Anthropic's messages, responses. */
export type Form = 'chat' | 'messages' | 'responses';

const READERS: Record<Form, (item: unknown) => Turn[]> = {
  chat: chatTurns,
  messages: messagesTurns,
  responses: responsesTurns,
};

/** The turns of one item of a conversation; none if it is unknown. */
export function readItem(item: unknown, form: Form): Turn[] {
  return READERS[form](item);
}

/** An id for a conversation, below 2^48: a hash of everything before its first answer. */
export function conversationOf(turns: readonly Turn[]): number {
  const hash = createHash('sha256');
  for (const { message } of turns) {
    if (roleOf(message) === 'assistant') break;
    for (const text of textsOf(message)) hash.update(text).update('\0');
  }
  return hash.digest().readUIntBE(0, 6);
}
