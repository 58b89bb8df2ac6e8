import type { RequestContext } from '../context.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { withIds } from './ids.ts';
import { withNames } from './names.ts';
import { inOrder } from './order.ts';
import { withResults } from './results.ts';
import { withSchemas } from './schemas.ts';

/**
 * A conversation that the provider takes, by the laws of this folder, and the client's names of tools by those that had
 * to be changed.
 */
export function repaired(
  conversation: Conversation,
  context: RequestContext,
): { conversation: Conversation; names: [string, string][] } {
  const { conversation: named, names } = withNames(conversation);
  const turns = inOrder(withIds(withResults(named.turns, context), context), context);
  return {
    names,
    conversation: {
      ...named,
      turns,
      tools: withSchemas(named.tools, context),
      maxTokens: lowered(named.maxTokens, context.maxOutputTokens),
    },
  };
}

/** A limit above what the model can write is refused. */
function lowered(limit: number | undefined, most: number | undefined): number | undefined {
  return limit === undefined || most === undefined ? limit : Math.min(limit, most);
}
