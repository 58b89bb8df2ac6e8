import type { RequestContext } from '../context.ts';
import { isCall, isReasoning, type Part, type Turn } from '../conversation/conversation.ts';
import { reasoningIn, turnId } from './item-memory.ts';

/** The turns with the reasoning of calls that the client has dropped, as far as it was kept. */
export function withKeptReasoning(
  turns: readonly Turn[],
  owner: string,
  { recall }: Pick<RequestContext, 'recall'>,
): Turn[] {
  return turns.map((turn) => {
    const calls = turn.parts.filter(isCall);
    if (calls.length === 0 || turn.parts.some(isSealed)) return turn;
    for (const { id } of calls) {
      const kept = reasoningIn(recall(turnId(owner, id)));
      if (kept) return { ...turn, parts: [kept, ...turn.parts.filter((part) => !isReasoning(part))] };
    }
    return turn;
  });
}

/** Whether more than the text of some reasoning has come back. */
const isSealed = (part: Part): boolean => isReasoning(part) && part.seals.some(({ kind }) => kind !== 'text');
