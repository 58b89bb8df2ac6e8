/** Number of rows to move, or an end of the list. */
export type Move = number | 'first' | 'last';

/** The index after a move in a list. */
export function listMove(length: number, at: number, move: Move): number {
  const to = move === 'first' ? 0 : move === 'last' ? length - 1 : at + move;
  return Math.max(0, Math.min(length - 1, to));
}
