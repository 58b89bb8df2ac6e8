/**
 * The current blocks by id. The ids are those of candidate.ts: an account, a key, or a key and model together. Times
 * are monotonic milliseconds.
 */
export type Blocks = Map<string, Block>;

export interface Block {
  because: BlockReason;
  sinceMs: number;
  untilMs: number;
}

/** `rate_limit`: a rate limit whose end the upstream stated. `guess`: a rate limit without a stated end. */
export type BlockReason = 'rate_limit' | 'guess' | 'used_up' | 'overload' | 'quota' | 'auth' | 'breaker';

/** Blocks an id. The longer of two blocks applies, but a rate limit with a stated end outranks all others. */
export function block(blocks: Blocks, id: string, next: Block): void {
  const current = blocks.get(id);
  const nextIsStated = next.because === 'rate_limit';
  const currentIsStated = current?.because === 'rate_limit' && current.untilMs > next.sinceMs;
  const replaces = nextIsStated === currentIsStated ? next.untilMs > (current?.untilMs ?? 0) : nextIsStated;
  if (!current || replaces) blocks.set(id, next);
}

/** The active blocks of these ids, longest first. Deletes expired ones. */
export function activeBlocks(blocks: Blocks, ids: readonly string[], nowMs: number): Block[] {
  const active: Block[] = [];
  for (const id of ids) {
    const entry = blocks.get(id);
    if (!entry) continue;
    if (entry.untilMs > nowMs) active.push(entry);
    else blocks.delete(id);
  }
  return active.sort((a, b) => b.untilMs - a.untilMs);
}

/** Lifts the blocks that are older than a successful attempt, because its success disproves them. Returns whether any was. */
export function lift(blocks: Blocks, ids: readonly string[], attemptBeganMs: number): boolean {
  const old = ids.filter((id) => (blocks.get(id)?.sinceMs ?? Number.POSITIVE_INFINITY) < attemptBeganMs);
  for (const id of old) blocks.delete(id);
  return old.length > 0;
}
