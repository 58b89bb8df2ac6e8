import type { Clock } from '../clock.ts';
import type { Candidate } from './candidate.ts';
import type { Tier } from './tier.ts';

/** The target and tier that served a conversation last. */
interface Pin {
  target: Candidate;
  tier?: Tier;
  /** Which budget sent the conversation to this cheaper target, and since when. */
  fallen?: { budgetId: number; version: number; start: number };
}

/** A pin that survives a restart. Its age is stored as a duration, because the monotonic clock restarts. */
export interface SavedPin {
  conversation: string;
  pin: Pin;
  idleMs: number;
}

export interface StickinessOptions {
  /** How long a conversation is remembered after its last turn. */
  idleMs?: number;
  /** The pins of an earlier run. */
  savedPins?: readonly SavedPin[];
}

/** Lifetime of a provider's prompt cache. */
const IDLE_MS = 600_000;
const MAX_CONVERSATIONS = 10_000;

/** Remembers the target of each conversation, by default for ten minutes after its last turn. */
export function createStickiness(
  clock: Pick<Clock, 'monotonic'>,
  { idleMs: maxIdleMs = IDLE_MS, savedPins = [] }: StickinessOptions = {},
) {
  // Ordered by last use: the first entry has been idle longest.
  const pins = new Map<string, { pin: Pin; usedAtMs: number }>();
  let changes = 0;
  for (const { conversation, pin, idleMs } of savedPins) {
    if (idleMs < maxIdleMs) pins.set(conversation, { pin, usedAtMs: clock.monotonic() - idleMs });
  }
  return {
    get(conversation: string): Pin | undefined {
      const entry = pins.get(conversation);
      return entry && clock.monotonic() - entry.usedAtMs < maxIdleMs ? entry.pin : undefined;
    },
    set(conversation: string, pin: Pin): void {
      changes++;
      pins.delete(conversation);
      pins.set(conversation, { pin, usedAtMs: clock.monotonic() });
      for (const [oldest, { usedAtMs }] of pins) {
        if (pins.size <= MAX_CONVERSATIONS && clock.monotonic() - usedAtMs < maxIdleMs) break;
        pins.delete(oldest);
      }
    },
    /** The `count` most recently served conversations, least recent first. */
    latest(count: number): SavedPin[] {
      const now = clock.monotonic();
      return [...pins]
        .slice(-count)
        .map(([conversation, { pin, usedAtMs }]) => ({ conversation, pin, idleMs: now - usedAtMs }));
    },
    /** Number of `set` calls. */
    get changes(): number {
      return changes;
    },
  };
}
