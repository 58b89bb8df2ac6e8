import type { GuardedKind, LimitGuard } from '../../../store/limits/guards.ts';
import { goesOn, type LimitReading } from '../../../store/limits/limit-rows.ts';

const PPM = 1_000_000;

/** Whose request it is, for guards. */
export type Sender = Record<GuardedKind, string> & { model: string };

/** Why a request has to stay out of a window. */
export interface Guarded {
  window: LimitReading;
  /** The share that is kept for others; undefined where it is the sender's own share that is used. */
  keepPpm: number | undefined;
  /** The share that the sender may use. */
  sharePpm: number;
  /** Whether it may wait for the reset. */
  slow: boolean;
}

/** Whether a window counts a model: those of single models have a name of its own, such as `opus`. */
const counts = ({ model }: LimitReading, asked: string): boolean =>
  model === '' || asked.toLowerCase().includes(model.toLowerCase());

/** The window whose rest is kept for others than the sender; undefined if there is none. */
export function guardedFrom(
  windows: readonly LimitReading[],
  guards: readonly LimitGuard[],
  sender: Sender,
  now: number,
): Guarded | undefined {
  const [guard] = guards;
  if (!guard || guards.some(({ kind, value }) => sender[kind] === value)) return undefined;
  const { keepPpm, slow } = guard;
  const window = windows
    .filter((each) => each.resetsAt > now && counts(each, sender.model) && each.usedPpm >= PPM - keepPpm)
    // The one that keeps it out for longest.
    .sort((a, b) => b.resetsAt - a.resetsAt)[0];
  return window && { window, keepPpm, sharePpm: PPM - keepPpm, slow };
}

/** A window and what keys have used of it. */
interface WindowUse {
  login: string;
  resetsAt: number;
  usedPpm: number;
  byKey: Map<number, number>;
  /** List prices of the requests since the last rise, by key. */
  costs: Map<number, number>;
}

/**
 * What keys have used of the windows: a rise between two answers is theirs by the list prices of all requests that ended
 * since the rise before. In memory: after a restart of gw, a run's share begins anew.
 */
export function createShareUse() {
  const windows = new Map<string, WindowUse>();
  return {
    spent(login: string, keyId: number, costNanoUsd: number): void {
      for (const { login: of, costs } of windows.values())
        if (of === login) costs.set(keyId, (costs.get(keyId) ?? 0) + costNanoUsd);
    },
    note(reading: LimitReading): void {
      const { login, resetsAt, usedPpm, updatedAt: at } = reading;
      const last = windows.get(nameOf(reading));
      const use: WindowUse =
        last && goesOn(last, { at, usedPpm, resetsAt })
          ? Object.assign(last, { resetsAt })
          : { login, resetsAt, usedPpm, byKey: new Map(), costs: last?.costs ?? new Map() };
      const total = [...use.costs.values()].reduce((sum, cost) => sum + cost, 0);
      const rise = usedPpm - use.usedPpm;
      windows.set(nameOf(reading), use);
      if (rise <= 0) return;
      for (const [key, cost] of use.costs)
        use.byKey.set(key, (use.byKey.get(key) ?? 0) + (rise * cost) / total);
      use.costs.clear();
      use.usedPpm = usedPpm;
    },
    /** The window of which the key has used its share or more; undefined if there is none. */
    exhausted(
      all: readonly LimitReading[],
      sender: Sender,
      sharePpm: number,
      now: number,
    ): Guarded | undefined {
      const window = all.find(
        (each) =>
          each.resetsAt > now &&
          counts(each, sender.model) &&
          (windows.get(nameOf(each))?.byKey.get(Number(sender.key)) ?? 0) >= sharePpm,
      );
      return window && { window, keepPpm: undefined, sharePpm, slow: false };
    },
  };
}

export const nameOf = ({ login, window, model }: Pick<LimitReading, 'login' | 'window' | 'model'>): string =>
  `${login} ${window} ${model}`;
