import { createHash } from 'node:crypto';
import type { Dialect } from '../../providers/dialects/dialect.ts';
import type { RequestContext } from '../context.ts';
import { isCall, isReasoning, isResult, type Part, type Turn } from '../conversation/conversation.ts';

/** What OpenAI and Anthropic take: https://platform.claude.com/docs/en/api/messages, `tool_use.id`. */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,40}$/;

/** An id that every API takes, the same one for the same id. */
export const plainId = (id: string): string => (PLAIN_ID.test(id) ? id : `call_${hashOf(id).slice(0, 24)}`);

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Gives calls ids that the provider takes, each only once, and their results the same. Expects results right behind
 * their calls.
 */
export function withIds(turns: readonly Turn[], { dialect }: Pick<RequestContext, 'dialect'>): Turn[] {
  const used = new Set<string>();
  /** The ids of the last calls that had to change. */
  let renamed = new Map<string, string>();
  return turns.map((turn) => {
    if (turn.role === 'assistant') {
      renamed = new Map();
      for (const part of turn.parts) {
        const id = isCall(part) ? idFor(part.id, used, dialect) : '';
        if (isCall(part) && id !== part.id) renamed.set(part.id, id);
      }
    }
    return renamed.size === 0 ? turn : { ...turn, parts: turn.parts.map((part) => withId(part, renamed)) };
  });
}

function idFor(id: string, used: Set<string>, dialect: Dialect): string {
  for (let times = 1; ; times++) {
    const source = times === 1 ? id : `${id} ${times}`;
    const found = takenId(source, dialect);
    if (used.has(found)) continue;
    used.add(found);
    return found;
  }
}

/** An id that a provider takes, the same one for the same id. */
export const takenId = (id: string, { callIds }: Pick<Dialect, 'callIds'>): string =>
  callIds ? lettersOf(id, callIds.letters) : plainId(id);

function lettersOf(id: string, length: number): string {
  return id.length === length && /^[a-zA-Z0-9]*$/.test(id) ? id : hashOf(id).slice(0, length);
}

function withId(part: Part, renamed: ReadonlyMap<string, string>): Part {
  if (isCall(part) || isResult(part)) return { ...part, id: renamed.get(part.id) ?? part.id };
  if (!isReasoning(part) || !part.seals.some(({ kind }) => kind === 'calls')) return part;
  const seals = part.seals.map((seal) => {
    if (seal.kind !== 'calls') return seal;
    return {
      ...seal,
      values: seal.values.map((each) => ({ ...each, id: renamed.get(String(each.id)) ?? each.id })),
    };
  });
  return { ...part, seals };
}
