/** A member of an `IndexedList`, which knows its place in it. */
export interface Indexed {
  /** Used by the list; -1 outside. */
  index: number;
}

/**
 * The objects that are under way, in no order. Not a Set: a Set that grows keeps its old hash tables linked to each other
 * and to their entries, so once one of them is in the old generation, the garbage of every request ends up there.
 */
export interface IndexedList<T extends Indexed> extends Iterable<T> {
  readonly length: number;
  add(member: T): void;
  /** Does nothing to an object that isn't in the list. */
  remove(member: T): void;
}

export function createIndexedList<T extends Indexed>(): IndexedList<T> {
  const members: T[] = [];
  return {
    get length() {
      return members.length;
    },
    add(member) {
      member.index = members.push(member) - 1;
    },
    remove(member) {
      if (members[member.index] !== member) return;
      const last = members.pop();
      if (last && last !== member) {
        members[member.index] = last;
        last.index = member.index;
      }
      member.index = -1;
    },
    // A copy, since members may leave meanwhile.
    [Symbol.iterator]: () => [...members][Symbol.iterator](),
  };
}
