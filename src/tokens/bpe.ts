import { type FindRank, NO_RANK } from './ranks.ts';

/** Counts the tokens of bytes[start, end) by byte pair encoding. */
export type CountPiece = (bytes: Uint8Array, start: number, end: number) => number;

/** A pair is stored in the heap as rank * POSITIONS + position: lowest rank first, then leftmost. */
const POSITIONS = 2 ** 31;

/**
 * tiktoken's byte pair encoding in O(n log n). Of all adjacent parts that form a token, the pair with the lowest rank
 * is merged, until none is left. The parts form a linked list; the pairs are kept in a heap.
 */
export function createPieceCounter(findRank: FindRank): CountPiece {
  const pairs = createNumberHeap();
  // Indexed by the position of a part's first byte: the start of the next part, the start of the previous part, and the
  // rank of the pair of the part and the next one. The casts below are safe because positions are within bounds.
  let next = new Int32Array(0);
  let previous = new Int32Array(0);
  let pairRank = new Int32Array(0);

  function reserve(length: number): void {
    if (length <= next.length) return;
    const capacity = 2 ** Math.ceil(Math.log2(length));
    next = new Int32Array(capacity);
    previous = new Int32Array(capacity);
    pairRank = new Int32Array(capacity);
  }

  function offerPair(piece: Uint8Array, part: number): void {
    const right = next[part] as number;
    const rank = right < piece.length ? findRank(piece, part, next[right] as number) : NO_RANK;
    pairRank[part] = rank;
    if (rank !== NO_RANK) pairs.push(rank * POSITIONS + part);
  }

  function merge(piece: Uint8Array): number {
    const { length } = piece;
    reserve(length);
    for (let part = 0; part < length; part++) {
      next[part] = part + 1;
      previous[part] = part - 1;
    }
    for (let part = 0; part < length; part++) offerPair(piece, part);

    let parts = length;
    while (pairs.size > 0) {
      const pair = pairs.pop();
      const rank = Math.floor(pair / POSITIONS);
      const part = pair - rank * POSITIONS;
      // Parts only grow, so a pair that has changed since it was pushed has a different rank, or none.
      if (pairRank[part] !== rank) continue;
      const right = next[part] as number;
      const after = next[right] as number;
      next[part] = after;
      if (after < length) previous[after] = part;
      pairRank[right] = NO_RANK;
      parts--;
      offerPair(piece, part);
      if (part > 0) offerPair(piece, previous[part] as number);
    }
    return parts;
  }

  return (bytes, start, end) => {
    if (findRank(bytes, start, end) !== NO_RANK) return 1;
    return merge(bytes.subarray(start, end));
  };
}

/** A binary min-heap of numbers in one typed array that grows. The casts are safe: it is read within bounds. */
export function createNumberHeap() {
  let values = new Float64Array(1024);
  let size = 0;

  function grow(): void {
    const larger = new Float64Array(values.length * 2);
    larger.set(values);
    values = larger;
  }

  return {
    get size(): number {
      return size;
    },
    push(value: number): void {
      if (size === values.length) grow();
      let at = size++;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = values[parent] as number;
        if (above <= value) break;
        values[at] = above;
        at = parent;
      }
      values[at] = value;
    },
    /** Removes and returns the smallest; the heap must not be empty. */
    pop(): number {
      const smallest = values[0] as number;
      const value = values[--size] as number;
      let at = 0;
      for (let child = 1; child < size; child = 2 * at + 1) {
        if (child + 1 < size && (values[child + 1] as number) < (values[child] as number)) child++;
        const below = values[child] as number;
        if (below >= value) break;
        values[at] = below;
        at = child;
      }
      values[at] = value;
      return smallest;
    },
  };
}
