import { recordTtfb } from './balance.ts';
import type { BlockReason, Blocks } from './blocks.ts';
import { newTargetHealth, type TargetHealth } from './target-health.ts';

/** Health that survives a restart. Times are stored as remaining durations, because the monotonic clock restarts. */
export interface HealthSnapshot {
  /** UTC milliseconds. */
  savedAtMs: number;
  blocks: { id: string; because: BlockReason; leftMs: number }[];
  targets: { id: string; openings: number; openLeftMs: number; averageMs?: number }[];
}

/** Whether a stored value has the shape of a snapshot; another version may have written it. */
export function isHealthSnapshot(value: unknown): value is HealthSnapshot {
  const { savedAtMs, blocks, targets } = (value ?? {}) as Partial<Record<keyof HealthSnapshot, unknown>>;
  return (
    typeof savedAtMs === 'number' &&
    isListWith(blocks, ['leftMs']) &&
    isListWith(targets, ['openings', 'openLeftMs'])
  );
}

function isListWith(list: unknown, numbers: readonly string[]): boolean {
  return (
    Array.isArray(list) &&
    list.every(
      (item) => typeof item?.id === 'string' && numbers.every((name) => typeof item[name] === 'number'),
    )
  );
}

export interface HealthState {
  blocks: Blocks;
  targets: Map<string, TargetHealth>;
}

interface Now {
  nowMs: number;
  utcMs: number;
}

export function saveHealth({ blocks, targets }: HealthState, { nowMs, utcMs }: Now): HealthSnapshot {
  return {
    savedAtMs: utcMs,
    blocks: [...blocks]
      .map(([id, { because, untilMs }]) => ({ id, because, leftMs: untilMs - nowMs }))
      .filter(({ leftMs }) => leftMs > 0),
    targets: [...targets].map(([id, { breaker, load }]) => ({
      id,
      openings: breaker.openings,
      openLeftMs: Math.max(0, breaker.openUntilMs - nowMs),
      ...(load.averageMs === undefined ? {} : { averageMs: load.averageMs }),
    })),
  };
}

export function restoreHealth(snapshot: HealthSnapshot | undefined, { nowMs, utcMs }: Now): HealthState {
  const state: HealthState = { blocks: new Map(), targets: new Map() };
  if (!snapshot) return state;
  // A clock that was set back must not lengthen the remaining durations.
  const elapsedMs = Math.max(0, utcMs - snapshot.savedAtMs);
  for (const { id, because, leftMs } of snapshot.blocks) {
    state.blocks.set(id, { because, sinceMs: nowMs, untilMs: nowMs + leftMs - elapsedMs });
  }
  for (const { id, openings, openLeftMs, averageMs } of snapshot.targets) {
    const health = newTargetHealth();
    if (openings > 0)
      Object.assign(health.breaker, { phase: 'open', openings, openUntilMs: nowMs + openLeftMs - elapsedMs });
    if (averageMs !== undefined) recordTtfb(health.load, averageMs, nowMs);
    state.targets.set(id, health);
  }
  return state;
}
