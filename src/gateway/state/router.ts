import type { Clock } from '../../clock.ts';
import type { Random } from '../../ids.ts';
import { createHealth, type Health } from '../../routing/health.ts';
import { isHealthSnapshot } from '../../routing/health-snapshot.ts';
import { newRetryBudget, type RetryBudget } from '../../routing/retry-budget.ts';
import { type AffinityStore, createAffinityStore } from './affinity-store.ts';

/** The router's state: health of the targets, affinity of conversations, and the budget of retries. */
export interface Router extends AffinityStore {
  health: Health;
  budget: RetryBudget;
  /** A random number in [0,1). */
  random: () => number;
  /** Calls the listener soon after the health of a target has changed. */
  onHealthChange(listener: () => void): void;
}

export interface RouterOptions {
  clock: Clock;
  random: Random;
  /** Stored snapshots of an earlier run, which are not trusted. */
  saved: { health: unknown; conversations: unknown };
}

/** Merges a burst of changes into one report. The listener saves the health, so a kill loses no more than this. */
const REPORT_AFTER_MS = 500;

export function createRouter({ clock, random, saved }: RouterOptions): Router {
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
    random: chance,
    onHealthChange: (listener) => void listeners.push(listener),
  };
}
