import type { NanoUsd } from '../../money.ts';

/**
 * What the ledger tells of team budgets while a batch runs. The batch may yet be rolled back: these are hints of when
 * to ask the authority for how much, and no money depends on them.
 */
export interface TeamHooks {
  /** The team's time, UTC ms. */
  now(): number;
  /** A request holds `amount`, and this gateway may spend `room` beyond that. */
  asked(budgetId: number, amount: NanoUsd, room: NanoUsd): void;
  /** A request needs `amount`, which this gateway doesn't have. */
  short(budgetId: number, amount: NanoUsd): void;
  /** A request was refused that a budget without money for `small` could not pay for. */
  refused(budgetId: number, small: NanoUsd): void;
  /** A request has cost this much. */
  spent(budgetId: number, cost: NanoUsd): void;
}
