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
  /** Calls the listener soon after the health of a target has changed. */
  onHealthChange(listener: () => void): void;
}

export interface RouterOptions {
  clock: Clock;
  random: Random;
  /** What an earlier run knew, as it was stored. */
  known: { health: unknown; conversations: unknown };
}

/** A burst of changes is reported once. The listener saves the health, so a kill loses no more than this. */
const REPORT_AFTER_MS = 500;

export function createRouter({ clock, random, known }: RouterOptions): Router {
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
  const snapshot = isHealthSnapshot(known.health) ? known.health : undefined;
  const health = createHealth({ clock, random: chance, snapshot, onChange });
  return {
    ...createAffinityStore(clock, known.conversations),
    health,
    budget: newRetryBudget(),
    random: chance,
    onHealthChange: (listener) => void listeners.push(listener),
  };
}
