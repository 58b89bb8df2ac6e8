import type { RequestContext } from '../context.ts';
import {
  type CallPart,
  isCall,
  isResult,
  type Part,
  type ResultPart,
  type Turn,
  textPart,
} from '../conversation/conversation.ts';

/**
 * Puts the result of each tool call right behind the turn that makes it, as all APIs but responses require: other turns
 * between them follow, the result of a call that was broken off is made up, and one without a call becomes text. Turns
 * of the assistant that make calls one after the other are one turn.
 */
export function withResults(turns: readonly Turn[], { leaveOut }: Pick<RequestContext, 'leaveOut'>): Turn[] {
  if (!turns.some(({ parts }) => parts.some((part) => isCall(part) || isResult(part)))) return [...turns];
  const results = resultsById(turns);
  const known = new Set<ResultPart>();
  const repaired: Turn[] = [];
  for (const turn of joined(turns)) {
    if (turn.role !== 'assistant') {
      const parts: Part[] = turn.parts
        .filter((part) => !isResult(part) || !isTaken(part, results, known))
        .map(asOrphan);
      const last = repaired.at(-1);
      // What the user says beside results follows them in the same turn.
      if (turn.role === 'user' && last?.role === 'user' && !last.parts.some((part) => !isResult(part)))
        last.parts.push(...parts);
      else if (parts.length > 0) repaired.push({ ...turn, parts });
      continue;
    }
    repaired.push(turn);
    const calls = turn.parts.filter(isCall);
    if (calls.length === 0) continue;
    const parts = calls.map((call) => resultOf(call, results, known, leaveOut));
    repaired.push({ role: 'user', parts });
  }
  return repaired;
}

/** By the id of their call, in their order: some providers use an id twice. */
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
  return results;
}

/** Whether a result stands, or will stand, behind its call. */
const isTaken = (
  part: ResultPart,
  results: ReadonlyMap<string, ResultPart[]>,
  known: ReadonlySet<ResultPart>,
) => known.has(part) || results.get(part.id)?.includes(part) === true;

function resultOf(
  call: CallPart,
  results: ReadonlyMap<string, ResultPart[]>,
  known: Set<ResultPart>,
  leaveOut: RequestContext['leaveOut'],
): ResultPart {
  const found = results.get(call.id)?.shift();
  if (found) {
    known.add(found);
    return found;
  }
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

/** Consecutive turns of the assistant of which the earlier makes calls become one. */
function joined(turns: readonly Turn[]): Turn[] {
  const all: Turn[] = [];
  for (const turn of turns) {
    const last = all.at(-1);
    if (turn.role === 'assistant' && last?.role === 'assistant' && last.parts.some(isCall))
      all[all.length - 1] = { role: 'assistant', parts: [...last.parts, ...turn.parts] };
    else all.push(turn);
  }
  return all;
}
