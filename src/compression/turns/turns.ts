import { createHash } from 'node:crypto';
import { roleOf, textsOf } from '../prompt/message.ts';
import { chatTurns } from './chat.ts';
import { messagesTurns } from './messages.ts';
import { responsesTurns } from './responses.ts';
import type { Turn } from './turn.ts';

/** Whose words a conversation is written in: chat completions, Anthropic's messages, responses. */
export type Form = 'chat' | 'messages' | 'responses';

const READERS: Record<Form, (item: unknown, index: number) => Turn[]> = {
  chat: chatTurns,
  messages: messagesTurns,
  responses: responsesTurns,
};

/** The turns of a conversation in order; what gw does not know has none. Throws where it is no array. */
export function readTurns(conversation: unknown, form: Form): Turn[] {
  if (!Array.isArray(conversation)) throw new Error('the conversation is not an array');
  return conversation.flatMap(READERS[form]);
}

/** A number for a conversation, below 2^48: a hash of all that comes before its first answer. */
export function conversationOf(turns: readonly Turn[]): number {
  const hash = createHash('sha256');
  for (const { message } of turns) {
    if (roleOf(message) === 'assistant') break;
    for (const text of textsOf(message)) hash.update(text).update('\0');
  }
  return hash.digest().readUIntBE(0, 6);
}
