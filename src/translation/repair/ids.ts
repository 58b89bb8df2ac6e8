import { createHash } from 'node:crypto';
import { remembered } from '../../json/grouped.ts';
import type { Dialect } from '../../providers/dialects/dialect.ts';
import type { RequestContext } from '../context.ts';
import type { AnswerEvent } from '../conversation/answer.ts';
import {
  type CallPart,
  isCall,
  isReasoning,
  isResult,
  type ReasoningPart,
  type Seal,
  type Turn,
} from '../conversation/conversation.ts';
import { asText } from '../json.ts';

/** What OpenAI and Anthropic take: https://platform.claude.com/docs/en/api/messages, `tool_use.id`. */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/** An id that every API takes, the same one for the same id. */
export const plainId = (id: string): string => (PLAIN_ID.test(id) ? id : `call_${hashOf(id).slice(0, 24)}`);

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Gives calls ids that the provider takes, each only once, and their results the same. Expects results right behind
 * their calls.
 */
export function withIds(turns: readonly Turn[], { dialect }: Pick<RequestContext, 'dialect'>): Turn[] {
  const idFor = createIds(dialect);
  /** The ids of the last calls by what they were, in their order. Empty if none had to change. */
  let renamed = UNCHANGED;
  return turns.map((turn) => {
    if (turn.role === 'assistant') renamed = renamedCalls(turn.parts.filter(isCall), idFor);
    if (renamed === UNCHANGED) return turn;
    const idOf = inOrder(renamed);
    return {
      ...turn,
      parts: turn.parts.map((part) => {
        if (isCall(part) || isResult(part)) return { ...part, id: idOf(part.id) };
        return isReasoning(part) ? withSealedIds(part, inOrder(renamed)) : part;
      }),
    };
  });
}

const UNCHANGED: ReadonlyMap<string, string[]> = new Map();

function renamedCalls(calls: readonly CallPart[], idFor: (id: string) => string): typeof UNCHANGED {
  const own = calls.map(({ id }) => idFor(id));
  if (calls.every(({ id }, i) => id === own[i])) return UNCHANGED;
  const ids = new Map<string, string[]>();
  for (const [i, { id }] of calls.entries()) remembered(ids, id, () => []).push(own[i] as string);
  return ids;
}

/** The new id for an old one; one that came several times has as many, given in their order. */
function inOrder(renamed: ReadonlyMap<string, readonly string[]>): (id: string) => string {
  const times = new Map<string, number>();
  return (id) => {
    const ids = renamed.get(id);
    const count = times.get(id) ?? 0;
    times.set(id, count + 1);
    return ids?.[count] ?? ids?.[0] ?? id;
  };
}

/** Gives each call an id of its own that the provider takes. */
function createIds(dialect: Dialect): (id: string) => string {
  const used = new Set<string>();
  /** How often each id has come. */
  const times = new Map<string, number>();
  return (id) => {
    for (;;) {
      const count = (times.get(id) ?? 0) + 1;
      times.set(id, count);
      const found = takenId(count === 1 ? id : `${id} ${count}`, dialect);
      if (used.has(found)) continue;
      used.add(found);
      return found;
    }
  };
}

/** An id that a provider takes, the same one for the same id. */
export const takenId = (id: string, { toolIds }: Pick<Dialect, 'toolIds'>): string =>
  toolIds ? lettersOf(id, toolIds) : plainId(id);

function lettersOf(id: string, length: number): string {
  return id.length === length && /^[a-zA-Z0-9]*$/.test(id) ? id : hashOf(id).slice(0, length);
}

const withSealedIds = (part: ReasoningPart, idOf: (id: string) => string): ReasoningPart => ({
  ...part,
  seals: part.seals.map((seal) => sealWithIds(seal, idOf)),
});

/** A seal beside calls of other ids. */
function sealWithIds(seal: Seal, idOf: (id: string) => string): Seal {
  if (seal.kind !== 'calls') return seal;
  return { ...seal, values: seal.values.map((value) => ({ ...value, id: idOf(asText(value.id)) })) };
}

/**
 * Gives the calls of an answer other ids than those of the conversation so far: some providers give the same ones again,
 * and agents tell calls apart by them.
 */
export function createFreshIds(
  callIds: readonly string[],
  newId: (prefix: string) => string,
): (events: AnswerEvent[]) => AnswerEvent[] {
  if (callIds.length === 0) return (events) => events;
  const used = new Set(callIds);
  const renamed = new Map<string, string>();
  const idOf = (id: string): string => {
    if (!used.has(id)) return id;
    const own = renamed.get(id) ?? newId('call');
    renamed.set(id, own);
    return own;
  };
  return (events) =>
    events.map((event) => {
      if (event.type === 'call') return { ...event, id: idOf(event.id) };
      return event.type === 'seal' ? { ...event, seal: sealWithIds(event.seal, idOf) } : event;
    });
}
