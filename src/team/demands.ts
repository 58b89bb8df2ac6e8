import type { Clock } from '../clock.ts';
import type { NanoUsd } from '../money.ts';
import type { TeamHooks } from '../store/ledger/team-terms.ts';
import { createDemand, type Demand, type SyncReason } from './policy.ts';
import type { TeamClock } from './team-clock.ts';

/** What the ledger says of team budgets, kept until the next message. By the local id of a budget. */
export interface Demands extends TeamHooks {
  demandOf(budgetId: number): Demand;
  /** What waiting requests need of a budget, and forgets it: those that still wait will ask again. */
  takeNeed(budgetId: number): NanoUsd;
  hasNeed(): boolean;
  /** An answer has come: requests that still wait will ask again, and those that it served won't. */
  forgetNeeds(): void;
  /** What a small request would have needed, if one was refused since the last message. */
  takeRefusal(budgetId: number): NanoUsd | undefined;
  /** Whether money of a budget is short: then nothing is asked for ahead of need. */
  setTight(budgetId: number, isTight: boolean): void;
  /** Called when it is time to sync. */
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
      // The request at the head of the line asks first.
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
