import type { Json } from '../json.ts';

/** Keeps the items of translated answers, for clients that refer to them by id instead of sending them again. */
export interface ItemMemory {
  remember(item: Json): void;
  recall(id: string): Json | undefined;
}

const MAX_BYTES = 32 * 1024 * 1024;

/** Keeps items in memory up to a number of bytes and drops the oldest first. */
export function createItemMemory(maxBytes = MAX_BYTES): ItemMemory {
  const items = new Map<string, string>();
  let size = 0;

  function drop(id: string): void {
    size -= items.get(id)?.length ?? 0;
    items.delete(id);
  }

  return {
    remember(item) {
      const id = String(item.id);
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
      const text = items.get(id);
      return text === undefined ? undefined : (JSON.parse(text) as Json);
    },
  };
}
