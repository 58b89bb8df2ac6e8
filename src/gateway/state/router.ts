import type { Clock } from '../../clock.ts';
import type { Random } from '../../ids.ts';
import { createHealth, isHealthSnapshot } from '../../routing/health.ts';
import { newRetryBudget } from '../../routing/next-attempt.ts';
import { createStickiness, type SavedPin } from '../../routing/stickiness.ts';

/** The router's state: health of the targets, affinity of conversations, and the budget of retries. */
export type Router = ReturnType<typeof createRouter>;

interface RouterOptions {
  clock: Clock;
  random: Random;
  /** Stored snapshots of an earlier run, which are not trusted. */
  saved: { health: unknown; conversations: unknown };
}

/** Merges a burst of changes into one report. The listener saves the health, so a kill loses no more than this. */
const REPORT_AFTER_MS = 500;

export function createRouter({ clock, random, saved }: RouterOptions) {
  const listeners: (() => void)[] = [];
  let isDue = false;
  const onChange = () => {
    if (isDue) return;
    isDue = true;
    clock.after(REPORT_AFTER_MS, () => {
      isDue = false;
      for (const listener of listeners) listener();
    });
  };
  const chance = () => random(4).readUInt32BE(0) / 2 ** 32;
  const snapshot = isHealthSnapshot(saved.health) ? saved.health : undefined;
  const health = createHealth({ clock, random: chance, snapshot, onChange });
  return {
    ...createAffinityStore(clock, saved.conversations),
    health,
    budget: newRetryBudget(),
    /** A random number in [0,1). */
    random: chance,
    /** Calls the listener soon after the health of a target has changed. */
    onHealthChange: (listener: () => void) => void listeners.push(listener),
  };
}

interface AffinitySnapshot {
  /** UTC milliseconds. */
  savedAtMs: number;
  stickiness: SavedPin[];
  responses: SavedPin[];
  fallen: SavedPin[];
}

/** How long OpenAI stores responses: https://platform.openai.com/docs/guides/conversation-state */
const RESPONSES_MS = 30 * 86_400_000;
/** The longest period of a budget that starts again. */
const FALLEN_MS = 31 * 86_400_000;
/** Writing this many takes a millisecond. */
const MAX_SAVED = 500;

/**
 * The targets that served conversations last, and those that store responses.
 * `saved`: the stored snapshot of an earlier run, if there is one; it is not trusted.
 */
export function createAffinityStore(clock: Pick<Clock, 'monotonic' | 'now'>, saved: unknown) {
  const snapshot = saved as Partial<AffinitySnapshot> | undefined;
  // A clock that was set back must not make the entries younger.
  const elapsedMs = Math.max(0, clock.now() - Number(snapshot?.savedAtMs));
  /** The last target of each conversation. */
  const stickiness = createStickiness(clock, { savedPins: agePins(snapshot?.stickiness, elapsedMs) });
  /** The target that stores each response, by the response's id. */
  const responses = createStickiness(clock, {
    idleMs: RESPONSES_MS,
    savedPins: agePins(snapshot?.responses, elapsedMs),
  });
  /** The conversations that budgets have sent to cheaper models. */
  const fallen = createStickiness(clock, {
    idleMs: FALLEN_MS,
    savedPins: agePins(snapshot?.fallen, elapsedMs),
  });
  let changes = 0;
  return {
    stickiness,
    responses,
    fallen,
    /** A snapshot of the latest entries for the next start; undefined when nothing has changed since the last snapshot. */
    conversationsToSave(): AffinitySnapshot | undefined {
      const now = stickiness.changes + responses.changes + fallen.changes;
      if (now === changes) return undefined;
      changes = now;
      return {
        savedAtMs: clock.now(),
        stickiness: stickiness.latest(MAX_SAVED),
        responses: responses.latest(MAX_SAVED),
        fallen: fallen.latest(MAX_SAVED),
      };
    },
  };
}

/** Adds the time since the snapshot to the idle times. Skips entries of another format, such as another version's. */
function agePins(pins: unknown, elapsedMs: number): SavedPin[] {
  if (!Array.isArray(pins) || Number.isNaN(elapsedMs)) return [];
  return pins.filter(isSavedPin).map((pin) => ({ ...pin, idleMs: pin.idleMs + elapsedMs }));
}

function isSavedPin(value: unknown): value is SavedPin {
  const { conversation, pin, idleMs } = (value ?? {}) as Partial<SavedPin>;
  return (
    typeof conversation === 'string' &&
    typeof idleMs === 'number' &&
    typeof pin?.target?.provider === 'string'
  );
}
