/**
 * Who is left alone, why, and until when (monotonic milliseconds), under the ids of target.ts: an account,
 * a key, or a key and model together.
 */
export type Blocks = Map<string, Block>;

export interface Block {
  because: BlockReason;
  sinceMs: number;
  untilMs: number;
}

export type BlockReason = 'rate_limit' | 'used_up' | 'overload' | 'quota' | 'auth' | 'breaker';

/** Blocks an id; of two blocks the longer one stands. */
export function block(blocks: Blocks, id: string, wanted: Block): void {
  const known = blocks.get(id);
  if (!known || wanted.untilMs > known.untilMs) blocks.set(id, wanted);
}

/** The blocks that hold now, the longest first. Those whose time is over are forgotten. */
export function activeBlocks(blocks: Blocks, ids: readonly string[], nowMs: number): Block[] {
  const active: Block[] = [];
  for (const id of ids) {
    const found = blocks.get(id);
    if (!found) continue;
    if (found.untilMs > nowMs) active.push(found);
    else blocks.delete(id);
  }
  return active.sort((a, b) => b.untilMs - a.untilMs);
}

/** Lifts what an attempt that began after the block has disproved by succeeding. */
export function lift(blocks: Blocks, ids: readonly string[], attemptBeganMs: number): void {
  for (const id of ids) {
    if ((blocks.get(id)?.sinceMs ?? Number.POSITIVE_INFINITY) < attemptBeganMs) blocks.delete(id);
  }
}
