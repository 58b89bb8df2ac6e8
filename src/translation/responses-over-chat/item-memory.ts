import type { Json } from '../json.ts';

/** The items of answers that gw translated, for clients that refer to them by id instead of sending them back. */
export interface ItemMemory {
  remember(item: Json): void;
  recall(id: string): Json | undefined;
}

const MAX_BYTES = 32 * 1024 * 1024;

/** In memory only, and no more than so many bytes: the oldest go first. */
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
