import type { Clock } from '../clock.ts';
import type { Tier } from './score/share.ts';
import type { Target } from './target.ts';

/** Where a conversation was served last. */
export interface Pin {
  target: Target;
  tier?: Tier;
}

export interface Stickiness {
  get(conversation: string): Pin | undefined;
  set(conversation: string, pin: Pin): void;
}

/** The life of a provider's prompt cache. */
const IDLE_MS = 600_000;
const MAX_CONVERSATIONS = 10_000;

/** Remembers conversations for ten minutes after their last turn, or as long as is said. */
export function createStickiness(clock: Pick<Clock, 'monotonic'>, idleMs = IDLE_MS): Stickiness {
  // In the order of last use, so that the first entry is always the one that is idle longest.
  const pins = new Map<string, { pin: Pin; usedAtMs: number }>();
  return {
    get(conversation) {
      const known = pins.get(conversation);
      return known && clock.monotonic() - known.usedAtMs < idleMs ? known.pin : undefined;
    },
    set(conversation, pin) {
      pins.delete(conversation);
      pins.set(conversation, { pin, usedAtMs: clock.monotonic() });
      for (const [oldest, { usedAtMs }] of pins) {
        if (pins.size <= MAX_CONVERSATIONS && clock.monotonic() - usedAtMs < idleMs) break;
        pins.delete(oldest);
      }
    },
  };
}

/**
 * The tier of a conversation's next turn: up at any time; down only where that saves more than the lost prompt
 * cache costs, and never within a tool loop.
 */
export function tierOfTurn({
  pinned,
  wanted,
  inToolLoop,
  savingNanoUsd,
  cacheLossNanoUsd,
}: {
  pinned: Tier | undefined;
  wanted: Tier;
  inToolLoop: boolean;
  savingNanoUsd: number;
  cacheLossNanoUsd: number;
}): Tier {
  if (pinned === undefined || pinned === wanted) return wanted;
  if (inToolLoop) return pinned;
  if (wanted === 'strong') return 'strong';
  return savingNanoUsd > cacheLossNanoUsd ? 'weak' : 'strong';
}
