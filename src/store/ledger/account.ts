import type { Calendar } from '../../calendar.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import type { BalanceRow, BalanceRows, Mark } from './balance-rows.ts';
import type { EmitEvent } from './events.ts';
import { isoTime, type Standing } from './standing.ts';
import { type BudgetTerms, boundariesBetween, budgetName, runningPeriod, thresholdOf } from './terms.ts';
import type { WindowRows, WindowSums } from './window-rows.ts';

/** The balance that an amount is reserved in: a budget id and the start of a period, or of a minute. */
export type Charge = [budgetId: number, start: number];

/** What the accounts of one connection share. */
export interface AccountContext {
  rows: BalanceRows;
  windowRows: WindowRows;
  calendar: () => Calendar;
  emit: EmitEvent;
  /** The time of the running batch. */
  now: number;
  /** The accounts that the running batch has changed. */
  changed: Set<Account>;
}

/** An earlier version of a budget's cap. */
export interface EarlierCap {
  version: number;
  cap: NanoUsd;
}

const MINUTE_MS = 60_000;

/**
 * One budget and its balances in memory. Balances are read when they are first needed, changed by the commands of a
 * batch and written at its end. A rolling budget has a balance a minute, any other a balance a period.
 */
export class Account {
  readonly budget: BudgetTerms;
  readonly #context: AccountContext;
  /** By start time. */
  readonly #balances = new Map<number, BalanceRow>();
  readonly #changed = new Set<BalanceRow>();
  /** Kept in step with the balances; undefined for budgets with periods and for removed ones. */
  #window: WindowSums | undefined;

  constructor(context: AccountContext, budget: BudgetTerms) {
    this.#context = context;
    this.budget = budget;
  }

  /** Brings the account up to the batch's time. Call it before the batch changes a balance: sums are of stored rows. */
  enterBatch(): void {
    if (this.budget.period !== 'rolling') this.#roll();
    else this.#window = this.#context.windowRows.sum(this.budget, this.#windowFrom());
  }

  /** What the budget has spent and holds now. */
  standing(): Standing {
    const { budget } = this;
    const { now, calendar } = this.#context;
    if (this.#window) {
      const { posted, pending, oldest } = this.#window;
      const resetsAt = Math.min(oldest ?? now, now) + (budget.windowMs ?? 0) + MINUTE_MS;
      return { budget, posted, pending, resetsAt };
    }
    const { posted, pending } = this.#balanceAt(budget.currentStart);
    return { budget, posted, pending, resetsAt: runningPeriod(budget, budget.currentStart, calendar()).end };
  }

  /** Reserves an amount in the running balance. */
  reserve(amount: NanoUsd): Charge {
    const balance = this.#runningBalance();
    this.#change(balance, 0, amount);
    return [this.budget.id, balance.start];
  }

  /** Adds earlier spend, and the holds that `charge` charges to the running balance. */
  seed(spent: NanoUsd, charge: (charge: Charge) => NanoUsd): void {
    const balance = this.#runningBalance();
    this.#change(balance, spent, charge([this.budget.id, balance.start]));
  }

  /** Turns a reservation in the balance of `start` into spend; an actual cost of 0 releases it. */
  post(start: number, reserved: NanoUsd, actual: NanoUsd): void {
    this.#change(this.#balanceAt(start), actual, -reserved);
  }

  /** Whether spend in the balance of `start` counts now; that of a rolling budget always does. */
  isRunning(start: number): boolean {
    return this.#window !== undefined || start === this.budget.currentStart;
  }

  /** Emits the events for the threshold and the cap that spend has reached, once a period and version of the cap. */
  emitReached(): void {
    const { posted } = this.standing();
    if (posted > 0 && posted >= thresholdOf(this.budget)) this.#emitOnce('thresholdVersion');
    if (posted >= this.budget.capNanoUsd) this.emitExceeded();
  }

  /** Emits that the budget is exceeded, once a period and version of the cap. */
  emitExceeded(): void {
    this.#emitOnce('exceededVersion');
  }

  /** Keeps the marks of an earlier cap version that still hold: a crossed threshold, the same cap exceeded. */
  keepMarks({ version, cap }: EarlierCap): void {
    const { budget } = this;
    if (version === budget.capVersion) return;
    const stillCrossed = this.standing().posted >= thresholdOf(budget);
    if (stillCrossed && this.#wasMarked('thresholdVersion', version)) this.#mark('thresholdVersion');
    if (cap === budget.capNanoUsd && this.#wasMarked('exceededVersion', version))
      this.#mark('exceededVersion');
  }

  /** Writes the changed balances. */
  write(): void {
    const { rows, windowRows } = this.#context;
    const { id, currentStart } = this.budget;
    for (const balance of this.#changed) {
      rows.write(id, balance);
      // The balance of another period or minute is rarely needed again.
      if (balance.start !== currentStart) this.#balances.delete(balance.start);
    }
    if (this.#window) windowRows.write(id, this.#windowFrom(), this.#window.posted);
    this.#changed.clear();
  }

  /** Enters the running period. After a clock moved back, the budget stays in the period that it had reached. */
  #roll(): void {
    const { budget } = this;
    const { rows, emit, now } = this.#context;
    const calendar = this.#context.calendar();
    const period = runningPeriod(budget, now, calendar);
    if (period.start <= budget.currentStart) return;
    emit('budget.reset', budget.projectId, {
      budget_id: budgetName(budget),
      ...(budget.repo === '' ? {} : { repo: budget.repo }),
      period: budget.period,
      period_start: new Date(period.start).toISOString(),
      resets_at: new Date(period.end).toISOString(),
      skipped: boundariesBetween(budget, period.start, calendar) - 1,
      spent_usd: usdNumber(this.#balanceAt(budget.currentStart).posted),
      cap_usd: usdNumber(budget.capNanoUsd),
    });
    this.#balances.clear();
    budget.currentStart = period.start;
    rows.advance(budget.id, period.start);
  }

  #balanceAt(start: number): BalanceRow {
    let balance = this.#balances.get(start);
    if (!balance) {
      balance = this.#context.rows.read(this.budget.id, start);
      this.#balances.set(start, balance);
    }
    return balance;
  }

  /** The balance that takes new reservations and marks. */
  #runningBalance(): BalanceRow {
    const { now } = this.#context;
    const { period, currentStart } = this.budget;
    return this.#balanceAt(period === 'rolling' ? now - (now % MINUTE_MS) : currentStart);
  }

  /** Minutes that start after this are in the window, whole or in part. */
  #windowFrom(): number {
    return this.#context.now - (this.budget.windowMs ?? 0) - MINUTE_MS;
  }

  #change(balance: BalanceRow, posted: NanoUsd, pending: NanoUsd): void {
    balance.posted += posted;
    balance.pending += pending;
    this.#noteChange(balance);
    const window = this.#window;
    if (!window) return;
    window.pending += pending;
    if (posted === 0 || balance.start <= this.#windowFrom()) return;
    window.posted += posted;
    window.oldest = Math.min(window.oldest ?? balance.start, balance.start);
  }

  #noteChange(balance: BalanceRow): void {
    this.#changed.add(balance);
    this.#context.changed.add(this);
  }

  #emitOnce(mark: Mark): void {
    const { budget } = this;
    const isMarked = this.#window ? this.#window[mark] : this.#runningBalance()[mark] === budget.capVersion;
    if (isMarked) return;
    this.#mark(mark);
    const type = mark === 'thresholdVersion' ? 'budget.threshold_reached' : 'budget.exceeded';
    this.#context.emit(type, budget.projectId, standingData(this.standing()));
  }

  /** Marks the running balance: in a rolling budget, the mark must not leave the window before the spend does. */
  #mark(mark: Mark): void {
    const balance = this.#runningBalance();
    balance[mark] = this.budget.capVersion;
    this.#noteChange(balance);
    if (this.#window) this.#window[mark] = true;
  }

  /** Whether a cap version had its event in the running period or window. Reads stored marks of windows. */
  #wasMarked(mark: Mark, version: number): boolean {
    const { id, period } = this.budget;
    if (period !== 'rolling') return this.#runningBalance()[mark] === version;
    return this.#context.windowRows.isMarked(id, this.#windowFrom(), mark, version);
  }
}

function standingData({ budget, posted, pending, resetsAt }: Standing): Record<string, unknown> {
  return {
    budget_id: budgetName(budget),
    period: budget.period,
    spent_usd: usdNumber(posted),
    held_usd: usdNumber(pending),
    cap_usd: usdNumber(budget.capNanoUsd),
    alert_percent: budget.alertPercent,
    ...(budget.repo === '' ? {} : { repo: budget.repo }),
    resets_at: isoTime(resetsAt),
  };
}
