import type { Json } from '../json.ts';
import { asText } from '../json.ts';

/** The items of each project. */
export type ItemMemories = (projectId: number) => ItemMemory;

/** Keeps the items of translated answers, for clients that refer to them by id instead of sending them again. */
export interface ItemMemory {
  remember(item: Json): void;
  recall(id: string): Json | undefined;
}

const MAX_BYTES = 32 * 1024 * 1024;

/** Keeps items in memory up to a number of bytes and drops the oldest first. A project sees its own only. */
export function createItemMemories(maxBytes = MAX_BYTES): ItemMemories {
  const items = new Map<string, string>();
  let size = 0;

  function drop(id: string): void {
    size -= items.get(id)?.length ?? 0;
    items.delete(id);
  }

  return (projectId) => ({
    remember(item) {
      const id = `${projectId} ${asText(item.id)}`;
      const text = JSON.stringify(item);
      drop(id);
      items.set(id, text);
      size += text.length;
      for (const [oldest] of items) {
        if (size <= maxBytes) break;
        drop(oldest);
      }
    },
    recall(id) {
      const text = items.get(`${projectId} ${id}`);
      return text === undefined ? undefined : (JSON.parse(text) as Json);
    },
  });
}
