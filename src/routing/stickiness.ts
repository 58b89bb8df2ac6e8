import type { Clock } from '../clock.ts';
import type { Candidate } from './candidate.ts';
import type { Tier } from './tier.ts';

/** Where a conversation was served last. */
export interface Pin {
  target: Candidate;
  tier?: Tier;
}

export interface Stickiness {
  get(conversation: string): Pin | undefined;
  set(conversation: string, pin: Pin): void;
  /** So many of the conversations that were served last, the last one at the end. */
  latest(most: number): SavedPin[];
  /** How often a conversation was served. */
  readonly changes: number;
}

/** A pin as it survives a restart: by how long ago it was used, as the monotonic clock starts anew. */
export interface SavedPin {
  conversation: string;
  pin: Pin;
  idleMs: number;
}

export interface StickinessOptions {
  /** How long conversations are remembered after their last turn. */
  idleMs?: number;
  /** Those of an earlier run. */
  known?: readonly SavedPin[];
}

/** The life of a provider's prompt cache. */
const IDLE_MS = 600_000;
const MAX_CONVERSATIONS = 10_000;

/** Remembers conversations for ten minutes after their last turn, or as long as is said. */
export function createStickiness(
  clock: Pick<Clock, 'monotonic'>,
  { idleMs: mostIdleMs = IDLE_MS, known = [] }: StickinessOptions = {},
): Stickiness {
  // In the order of last use, so that the first entry is always the one that is idle longest.
  const pins = new Map<string, { pin: Pin; usedAtMs: number }>();
  let changes = 0;
  for (const { conversation, pin, idleMs } of known) {
    if (idleMs < mostIdleMs) pins.set(conversation, { pin, usedAtMs: clock.monotonic() - idleMs });
  }
  return {
    get(conversation) {
      const known = pins.get(conversation);
      return known && clock.monotonic() - known.usedAtMs < mostIdleMs ? known.pin : undefined;
    },
    set(conversation, pin) {
      changes++;
      pins.delete(conversation);
      pins.set(conversation, { pin, usedAtMs: clock.monotonic() });
      for (const [oldest, { usedAtMs }] of pins) {
        if (pins.size <= MAX_CONVERSATIONS && clock.monotonic() - usedAtMs < mostIdleMs) break;
        pins.delete(oldest);
      }
    },
    latest(most) {
      const now = clock.monotonic();
      return [...pins]
        .slice(-most)
        .map(([conversation, { pin, usedAtMs }]) => ({ conversation, pin, idleMs: now - usedAtMs }));
    },
    get changes() {
      return changes;
    },
  };
}
