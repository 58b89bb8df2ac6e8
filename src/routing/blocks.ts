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

/** `rate_limit`: it said how long; `guess`: it did not. */
export type BlockReason = 'rate_limit' | 'guess' | 'used_up' | 'overload' | 'quota' | 'auth' | 'breaker';

/** Blocks an id; of two blocks the longer one stands, but a limit that was told stands before all others. */
export function block(blocks: Blocks, id: string, wanted: Block): void {
  const known = blocks.get(id);
  const isTold = wanted.because === 'rate_limit';
  const wasTold = known?.because === 'rate_limit' && known.untilMs > wanted.sinceMs;
  const stands = isTold === wasTold ? wanted.untilMs > (known?.untilMs ?? 0) : isTold;
  if (!known || stands) blocks.set(id, wanted);
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
