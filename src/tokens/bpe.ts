import { createNumberHeap } from './number-heap.ts';
import { type FindRank, NO_RANK } from './ranks.ts';

/** The number of tokens that byte pair encoding makes of bytes[start, end). */
export type CountPiece = (bytes: Uint8Array, start: number, end: number) => number;

/** A pair in the heap is rank * POSITIONS + position: the lowest rank comes first, the leftmost among equals. */
const POSITIONS = 2 ** 31;

/**
 * Byte pair encoding as tiktoken does it, in O(n log n): of all neighbours that together are a token, the pair of
 * the lowest rank is merged, again and again. The parts are a linked list, the pairs wait in a heap.
 */
export function createPieceCounter(findRank: FindRank): CountPiece {
  const pairs = createNumberHeap();
  // By the position of a part's first byte: where the next part starts, where the previous one does, and the rank
  // of the pair that the part makes with the next. The casts below: no position is ever out of bounds.
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
      // A part only grows, so a pair that has changed since it was pushed has another rank, or none.
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
