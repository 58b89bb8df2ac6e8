import type { RequestContext } from '../context.ts';
import {
  type CallPart,
  isCall,
  isResult,
  joinTurns,
  type Part,
  type ResultPart,
  type Turn,
  textPart,
} from '../conversation/conversation.ts';
import { append } from '../json.ts';

/**
 * Puts the result of each tool call right behind the turn that makes it, as all APIs but responses require: other turns
 * between them follow, the result of a call that was broken off is made up, and one without a call becomes text. Turns
 * of the assistant that make calls one after the other are one turn.
 */
export function withResults(turns: readonly Turn[], { leaveOut }: Pick<RequestContext, 'leaveOut'>): Turn[] {
  if (!turns.some(({ parts }) => parts.some((part) => isCall(part) || isResult(part)))) return [...turns];
  const results = resultsById(turns);
  const repaired: Turn[] = [];
  for (const turn of joinTurns(turns, makesCalls)) {
    if (turn.role !== 'assistant') {
      // A result stands, or will stand, behind its call.
      const parts: Part[] = turn.parts
        .filter((part) => !isResult(part) || !results.has(part.id))
        .map(asOrphan);
      const last = repaired.at(-1);
      // What the user says beside results follows them in the same turn.
      if (turn.role === 'user' && last?.role === 'user' && !last.parts.some((part) => !isResult(part)))
        append(last.parts, parts);
      else if (parts.length > 0) repaired.push({ ...turn, parts });
      continue;
    }
    repaired.push(turn);
    const calls = turn.parts.filter(isCall);
    if (calls.length === 0) continue;
    const parts = calls.map((call) => resultOf(call, results, leaveOut));
    repaired.push({ role: 'user', parts });
  }
  return repaired;
}

const makesCalls = ({ role, parts }: Turn): boolean => role === 'assistant' && parts.some(isCall);

/** By the id of their call, the last first: some providers use an id twice. */
function resultsById(turns: readonly Turn[]): Map<string, ResultPart[]> {
  const calls = new Set<string>();
  for (const { parts } of turns) for (const part of parts) if (isCall(part)) calls.add(part.id);
  const results = new Map<string, ResultPart[]>();
  for (const { parts } of turns) {
    for (const part of parts) {
      if (!isResult(part) || !calls.has(part.id)) continue;
      const found = results.get(part.id);
      if (found) found.push(part);
      else results.set(part.id, [part]);
    }
  }
  for (const found of results.values()) found.reverse();
  return results;
}

function resultOf(
  call: CallPart,
  results: ReadonlyMap<string, ResultPart[]>,
  leaveOut: RequestContext['leaveOut'],
): ResultPart {
  const found = results.get(call.id)?.pop();
  if (found) return found;
  leaveOut(`${call.at} (no result)`);
  return {
    type: 'result',
    id: call.id,
    parts: [textPart('The call was interrupted: it has no result.')],
    isError: true,
  };
}

/** A result whose call is not in the conversation is something that the user says. */
function asOrphan(part: Part): Part {
  if (!isResult(part)) return part;
  const text = part.parts.map((each) => (each.type === 'text' ? each.text : '')).join('\n\n');
  return textPart(`The result of an earlier tool call:\n${text}`);
}
