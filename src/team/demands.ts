import type { Clock } from '../clock.ts';
import type { NanoUsd } from '../money.ts';
import type { TeamHooks } from '../store/ledger/team-terms.ts';
import { createDemand, type Demand, type SyncReason } from './policy.ts';
import type { TeamClock } from './team-clock.ts';

/** Demand that the ledger reports for team budgets, until the next message. Keyed by local budget id. */
export interface Demands extends TeamHooks {
  demandOf(budgetId: number): Demand;
  /** Returns and clears the amount that waiting requests need; requests that still wait report it again. */
  takeNeed(budgetId: number): NanoUsd;
  hasNeed(): boolean;
  /** Clears all needs after an answer; requests that still wait report them again. */
  forgetNeeds(): void;
  /** Amount that a small request would have needed, if one was refused since the last message. */
  takeRefusal(budgetId: number): NanoUsd | undefined;
  /** Sets whether a budget is short of money. If so, nothing is requested ahead of need. */
  setTight(budgetId: number, isTight: boolean): void;
  /** Sets the listener for reasons to sync early. */
  onReason(listener: ((reason: SyncReason) => void) | undefined): void;
}

export function createDemands(clock: Pick<Clock, 'monotonic'>, teamClock: TeamClock): Demands {
  const demands = new Map<number, Demand>();
  const needs = new Map<number, NanoUsd>();
  const refusals = new Map<number, NanoUsd>();
  const tight = new Set<number>();
  let listener: ((reason: SyncReason) => void) | undefined;

  function demandOf(budgetId: number): Demand {
    let demand = demands.get(budgetId);
    if (!demand) {
      demand = createDemand();
      demands.set(budgetId, demand);
    }
    return demand;
  }

  return {
    now: () => teamClock.now(),
    asked(budgetId, amount, room) {
      const now = clock.monotonic();
      const demand = demandOf(budgetId);
      demand.asked(amount, now);
      if (!tight.has(budgetId) && room < demand.desired(now, false) / 2) listener?.('low');
    },
    short(budgetId, amount) {
      demandOf(budgetId).asked(amount, clock.monotonic());
      // Only the first waiting request counts.
      if (!needs.has(budgetId)) needs.set(budgetId, amount);
      listener?.('short');
    },
    refused(budgetId, small) {
      refusals.set(budgetId, small);
      listener?.('low');
    },
    takeRefusal(budgetId) {
      const small = refusals.get(budgetId);
      refusals.delete(budgetId);
      return small;
    },
    spent: (budgetId, cost) => demandOf(budgetId).spent(cost, clock.monotonic()),
    demandOf,
    takeNeed(budgetId) {
      const need = needs.get(budgetId) ?? 0;
      needs.delete(budgetId);
      return need;
    },
    hasNeed: () => needs.size > 0,
    forgetNeeds: () => needs.clear(),
    setTight(budgetId, isTight) {
      if (isTight) tight.add(budgetId);
      else tight.delete(budgetId);
    },
    onReason(next) {
      listener = next;
    },
  };
}
