import type { RequestContext } from '../context.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { withResults } from './results.ts';

/** A conversation that every provider takes, by the laws of this folder. */
export function repaired(conversation: Conversation, context: RequestContext): Conversation {
  return { ...conversation, turns: withResults(conversation.turns, context) };
}
