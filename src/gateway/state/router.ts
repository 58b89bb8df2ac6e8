import type { Clock } from '../../clock.ts';
import type { Random } from '../../ids.ts';
import { createHealth, type Health } from '../../routing/health.ts';
import { isHealthSnapshot } from '../../routing/health-snapshot.ts';
import { newRetryBudget, type RetryBudget } from '../../routing/retry-budget.ts';
import { type AffinityStore, createAffinityStore } from './affinity-store.ts';

/** What the router knows of the targets, and how many second attempts it may still make. */
export interface Router extends AffinityStore {
  health: Health;
  budget: RetryBudget;
  /** A number in [0,1). */
  random: () => number;
}

export interface RouterOptions {
  clock: Clock;
  random: Random;
  /** What an earlier run knew, as it was stored. */
  known: { health: unknown; conversations: unknown };
  /** Stores the health; called soon after it has changed. */
  save: () => void;
}

/** A storm of failures is saved as one, and a kill loses no more than this. */
const SAVE_AFTER_MS = 500;

export function createRouter({ clock, random, known, save }: RouterOptions): Router {
  let isDue = false;
  const onChange = () => {
    if (isDue) return;
    isDue = true;
    clock.after(SAVE_AFTER_MS, () => {
      isDue = false;
      save();
    });
  };
  const chance = () => random(4).readUInt32BE(0) / 2 ** 32;
  const snapshot = isHealthSnapshot(known.health) ? known.health : undefined;
  const health = createHealth({ clock, random: chance, snapshot, onChange });
  return {
    ...createAffinityStore(clock, known.conversations),
    health,
    budget: newRetryBudget(),
    random: chance,
  };
}
