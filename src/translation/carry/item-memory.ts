import { isObject, objectsIn } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { ReasoningPart, Seal } from '../conversation/conversation.ts';
import { asText, type Json } from '../json.ts';
import { plainId } from '../repair/ids.ts';
import { isSealKind } from './envelope.ts';

export type ItemMemories = (projectId: number) => ItemMemory;

/**
 * Keeps the items of translated responses, for clients that send an item's id instead of the item; and reasoning that
 * belongs to tool calls, for clients that bring back no more than the calls' ids.
 */
export interface ItemMemory {
  remember(item: Json): void;
  recall(id: string): Json | undefined;
}

/** Where the reasoning of calls lies longer than the process runs. */
interface TurnStore {
  load(projectId: number, id: string): string | undefined;
  save(projectId: number, id: string, text: string): void;
  /** Whether any has an id that begins so. */
  hasAny(projectId: number, start: string): boolean;
}

const MAX_BYTES = 32 * 1024 * 1024;
/** A longer turn is kept while the process runs. */
const MAX_STORED_BYTES = 256 * 1024;

/** Begins the ids of the reasoning of calls. */
const TURN = 'turn ';

/** The id of the reasoning before a call. `owner`: who can read it (envelope.ts). */
export const turnId = (owner: string, callId: string): string => `${TURN}${owner} ${plainId(callId)}`;

/** What the ids of one owner's turns begin with. */
const ownerPart = (id: string): string => id.slice(0, id.lastIndexOf(' ') + 1);

export const isTurnId = (id: string): boolean => id.startsWith(TURN);

/** Owners that are known to have turns, or none, at a time. */
const MAX_OWNERS = 1_000;

/** Keeps items in memory up to `maxBytes`, dropping the oldest first. A project sees only its own items. */
export function createItemMemories(maxBytes = MAX_BYTES, store?: TurnStore): ItemMemories {
  const items = new Map<string, string>();
  let size = 0;

  function drop(id: string): void {
    size -= items.get(id)?.length ?? 0;
    items.delete(id);
  }

  function keep(id: string, text: string): void {
    drop(id);
    items.set(id, text);
    size += text.length;
    for (const [oldest] of items) {
      if (size <= maxBytes) break;
      drop(oldest);
    }
  }

  /** Whether an owner has turns, by project: a conversation has many calls, and most owners want nothing back. */
  const owners = new Map<string, boolean>();

  function hasTurns(projectId: number, id: string): boolean {
    const start = ownerPart(id);
    const owner = `${projectId} ${start}`;
    const known = owners.get(owner);
    if (known !== undefined) return known;
    if (owners.size >= MAX_OWNERS) owners.clear();
    const found = store?.hasAny(projectId, start) === true;
    owners.set(owner, found);
    return found;
  }

  function save(projectId: number, id: string, text: string): void {
    owners.set(`${projectId} ${ownerPart(id)}`, true);
    store?.save(projectId, id, text);
  }

  return (projectId) => ({
    remember(item) {
      const id = asText(item.id);
      const text = JSON.stringify(item);
      keep(`${projectId} ${id}`, text);
      if (isTurnId(id) && text.length <= MAX_STORED_BYTES) save(projectId, id, text);
    },
    recall(id) {
      const own = `${projectId} ${id}`;
      const isStored = isTurnId(id) && hasTurns(projectId, id);
      const text = items.get(own) ?? (isStored ? store?.load(projectId, id) : undefined);
      if (text === undefined) return undefined;
      if (!items.has(own)) keep(own, text);
      return parseObject(text);
    },
  });
}

/** The reasoning before a call, as `remember` has it. */
export function reasoningIn(item: Json | undefined): ReasoningPart | undefined {
  if (!isObject(item)) return undefined;
  const seals = objectsIn(item.seals).flatMap(({ kind, values }): Seal[] =>
    isSealKind(kind) ? [{ kind, values: objectsIn(values) }] : [],
  );
  return { type: 'reasoning', text: asText(item.text ?? ''), seals };
}
