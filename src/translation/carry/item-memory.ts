import type { Json } from '../json.ts';
import { asText } from '../json.ts';

/** The item memories by project. */
export type ItemMemories = (projectId: number) => ItemMemory;

/** Keeps the items of translated responses, for clients that send an item's id instead of the item. */
export interface ItemMemory {
  remember(item: Json): void;
  recall(id: string): Json | undefined;
}

const MAX_BYTES = 32 * 1024 * 1024;

/** Keeps items in memory up to `maxBytes`, dropping the oldest first. A project sees only its own items. */
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
