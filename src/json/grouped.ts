/** The items in lists by their keys, in order; those without a key are left out. */
export function grouped<Item, Key>(
  items: Iterable<Item>,
  keyOf: (item: Item) => Key | null | undefined,
): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key !== null && key !== undefined) remembered(groups, key, () => []).push(item);
  }
  return groups;
}

/** The value of a key, which `make` makes the first time. */
export function remembered<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}
