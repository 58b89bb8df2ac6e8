import type { Calendar, Span } from '../../calendar.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import type { BalanceRow, BalanceRows, Mark, WindowRows, WindowSums } from './balance-rows.ts';
import type { EmitEvent, EventType } from './events.ts';
import { isoTime, type Standing } from './standing.ts';
import type { TeamTerms } from './team-terms.ts';
import {
  alertsOf,
  type BudgetTerms,
  boundariesBetween,
  budgetName,
  fallNow,
  isFallen,
  runningPeriod,
  thresholdOf,
} from './terms.ts';
/**
 * The balance that an amount is reserved in: a budget id and the start of a period, or of a minute. `before`: the part of the amount that
 * the budget doesn't count, as earlier attempts had other targets; default: 0.
 */
export type Charge = [budgetId: number, start: number, before?: NanoUsd];

/** State that the accounts of one connection share. */
export interface AccountContext {
  rows: Pick<
    BalanceRows,
    'read' | 'write' | 'advance' | 'advanceTeam' | 'endRaises' | 'fall' | 'listenersOf'
  >;
  windowRows: Pick<WindowRows, 'sum' | 'write' | 'highestAlert' | 'isMarked'>;
  calendar: () => Calendar;
  team: Pick<TeamTerms, 'period' | 'figures'>;
  emit: EmitEvent;
  /** The time of the running batch, and its number. */
  now: number;
  batch: number;
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
  readonly #alerts: readonly number[];
  /** By start time. */
  readonly #balances = new Map<number, BalanceRow>();
  readonly #changed = new Set<BalanceRow>();
  /** Kept in step with the balances; undefined for budgets with periods and for removed ones. */
  #window: WindowSums | undefined;
  /** The last batch that it entered. */
  #batch = 0;

  constructor(context: AccountContext, budget: BudgetTerms) {
    this.#context = context;
    this.budget = budget;
    this.#alerts = alertsOf(budget);
  }

  /** Brings the account up to the batch's time, once: before the batch changes a balance, as sums are of stored rows. */
  enterBatch(): void {
    if (this.#batch === this.#context.batch) return;
    this.#batch = this.#context.batch;
    const earlier = this.#endRaises();
    if (this.budget.period !== 'rolling') this.#roll();
    else this.#window = this.#context.windowRows.sum(this.budget, this.windowFrom());
    // A per-member cap has no balance; its members announce theirs.
    if (!earlier || this.budget.scopeKind === 'each') return;
    this.keepMarks(earlier);
    this.emitReached();
  }

  /** Spend and holds of the budget now. */
  standing(): Standing {
    const { budget } = this;
    const { now, calendar } = this.#context;
    if (this.#window) {
      const { posted, pending, oldest } = this.#window;
      const resetsAt = Math.min(oldest ?? now, now) + (budget.windowMs ?? 0) + MINUTE_MS;
      return { budget, posted, pending, resetsAt };
    }
    const { posted, pending } = this.#balanceAt(budget.currentStart);
    if (budget.teamBudgetId !== null) {
      const { team } = this.#context;
      return {
        budget,
        posted,
        pending,
        resetsAt: team.period(budget, now).end,
        team: team.figures(budget, posted, now),
      };
    }
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
    // The authority announces a team's budget, once for all gateways.
    if (this.budget.teamBudgetId !== null) return;
    const { posted } = this.standing();
    if (posted > 0) {
      for (const percent of this.#alerts)
        if (posted >= thresholdOf(this.budget, percent)) this.#emitAlert(percent);
    }
    if (posted >= this.budget.capNanoUsd) this.emitExceeded();
  }

  /** Emits that the budget is exceeded, once a period and version of the cap. */
  emitExceeded(): void {
    if (this.budget.teamBudgetId !== null || this.#isMarked('exceededVersion')) return;
    this.#mark('exceededVersion');
    this.#emit('budget.exceeded');
  }

  /** Emits that requests go to the budget's cheaper models from now on, once a period and version of the cap. */
  emitFallback(): void {
    const { budget } = this;
    const { now, rows } = this.#context;
    if (isFallen(budget, { version: budget.fallbackVersion, start: budget.fallbackStart }, now)) return;
    const { version, start } = fallNow(budget, now);
    Object.assign(budget, { fallbackVersion: version, fallbackStart: start });
    rows.fall(budget.id, { version, start });
    this.#announce('budget.threshold_reached', {
      ...standingData(this.standing()),
      kind: 'fallback',
      alert_percent: budget.fallbackPercent,
      fallback: budget.fallback,
    });
  }

  /** Keeps the marks of an earlier cap version that still hold: a crossed threshold, the same cap exceeded. */
  keepMarks({ version, cap }: EarlierCap): void {
    const { budget } = this;
    if (version === budget.capVersion) return;
    if (this.#wasMarked('thresholdVersion', version)) {
      const { posted } = this.standing();
      // The only alert of a budget is not sent again for another share of the cap either.
      const highest = (this.#alerts.length > 1 && this.#highestAlert(version)) || 100;
      const crossed = this.#alerts.filter((percent) => posted >= thresholdOf(budget, percent));
      const sent = crossed.filter((percent) => percent <= highest).at(-1);
      if (sent !== undefined) this.#mark('thresholdVersion', sent);
    }
    if (cap === budget.capNanoUsd && this.#wasMarked('exceededVersion', version))
      this.#mark('exceededVersion');
  }

  /** Writes the changed balances. */
  write(): void {
    const { rows, windowRows } = this.#context;
    const { id, currentStart } = this.budget;
    for (const balance of this.#changed) {
      rows.write(this.budget, balance);
      // The balance of another period or minute is rarely needed again.
      if (balance.start !== currentStart) this.#balances.delete(balance.start);
    }
    if (this.#window) windowRows.write(id, this.windowFrom(), this.#window.posted);
    this.#changed.clear();
  }

  /** Enters the running period. Over seconds that a clock moved back, the budget stays in the period that it had reached. */
  #roll(): void {
    const { budget } = this;
    const { rows, now, team } = this.#context;
    if (budget.teamBudgetId !== null) {
      // By the team's clock, which may put back what a wrong clock here had put ahead.
      const { start } = team.period(budget, now);
      if (start === budget.currentStart) return;
      this.#balances.clear();
      budget.currentStart = start;
      budget.capNanoUsd = rows.advanceTeam(budget.id, start);
      return;
    }
    const period = runningPeriod(budget, now, this.#context.calendar());
    if (period.start <= budget.currentStart) return;
    if (budget.scopeKind !== 'each') this.#emitReset(period);
    this.#balances.clear();
    budget.currentStart = period.start;
    rows.advance(budget.id, period.start);
  }

  #emitReset(period: Span): void {
    const { budget } = this;
    const calendar = this.#context.calendar();
    this.#announce('budget.reset', {
      budget_id: budgetName(budget),
      ...(budget.repo === '' ? {} : { repo: budget.repo }),
      period: budget.period,
      period_start: new Date(period.start).toISOString(),
      resets_at: new Date(period.end).toISOString(),
      skipped: boundariesBetween(budget, period.start, calendar) - 1,
      spent_usd: usdNumber(this.#balanceAt(budget.currentStart).posted),
      cap_usd: usdNumber(budget.capNanoUsd),
    });
  }

  #announce(type: EventType, data: Record<string, unknown>): void {
    const { emit, rows } = this.#context;
    const { budget } = this;
    const listeners = budget.projects === '' ? [budget.projectId] : rows.listenersOf(budget);
    for (const projectId of listeners) emit(type, projectId, data);
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
  windowFrom(): number {
    return this.#context.now - (this.budget.windowMs ?? 0) - MINUTE_MS;
  }

  #change(balance: BalanceRow, posted: NanoUsd, pending: NanoUsd): void {
    balance.posted += posted;
    balance.pending += pending;
    this.#noteChange(balance);
    const window = this.#window;
    if (!window) return;
    window.pending += pending;
    if (posted === 0 || balance.start <= this.windowFrom()) return;
    window.posted += posted;
    window.oldest = Math.min(window.oldest ?? balance.start, balance.start);
  }

  #noteChange(balance: BalanceRow): void {
    this.#changed.add(balance);
    this.#context.changed.add(this);
  }

  /** Lowers the cap where raises have ended. Returns the version before. */
  #endRaises(): EarlierCap | undefined {
    const { budget } = this;
    const { rows, now } = this.#context;
    if (budget.raisedUntil === null || now < budget.raisedUntil) return undefined;
    const earlier = { version: budget.capVersion, cap: budget.capNanoUsd };
    Object.assign(budget, rows.endRaises(budget.id, now));
    return earlier;
  }

  #isMarked(mark: Mark): boolean {
    return this.#window ? this.#window[mark] : this.#runningBalance()[mark] === this.budget.capVersion;
  }

  #emitAlert(percent: number): void {
    const { budget } = this;
    if (this.#isMarked('thresholdVersion')) {
      const highest = this.#window?.thresholdPercent ?? this.#runningBalance().thresholdPercent;
      // Marks of earlier versions of gw have no percentage: there was one alert.
      if (percent <= (highest || budget.alertPercent)) return;
    }
    this.#mark('thresholdVersion', percent);
    this.#emit('budget.threshold_reached', percent);
  }

  #emit(type: EventType, alertPercent = this.budget.alertPercent): void {
    this.#announce(type, {
      ...standingData(this.standing()),
      alert_percent: alertPercent,
    });
  }

  /** Marks the running balance: in a rolling budget, the mark must not leave the window before the spend does. */
  #mark(mark: Mark, percent?: number): void {
    const balance = this.#runningBalance();
    balance[mark] = this.budget.capVersion;
    if (percent !== undefined) balance.thresholdPercent = percent;
    this.#noteChange(balance);
    if (!this.#window) return;
    this.#window[mark] = true;
    if (percent !== undefined) this.#window.thresholdPercent = percent;
  }

  /** The highest alert that a cap version has had; 0: its only one. */
  #highestAlert(version: number): number {
    const { id, period } = this.budget;
    if (period !== 'rolling') return this.#runningBalance().thresholdPercent;
    return this.#context.windowRows.highestAlert(id, this.windowFrom(), version);
  }

  /** Whether a cap version had its event in the running period or window. Reads stored marks of windows. */
  #wasMarked(mark: Mark, version: number): boolean {
    const { id, period } = this.budget;
    if (period !== 'rolling') return this.#runningBalance()[mark] === version;
    return this.#context.windowRows.isMarked(id, this.windowFrom(), mark, version);
  }
}

function standingData({ budget, posted, pending, resetsAt }: Standing): Record<string, unknown> {
  return {
    budget_id: budgetName(budget),
    period: budget.period,
    spent_usd: usdNumber(posted),
    held_usd: usdNumber(pending),
    cap_usd: usdNumber(budget.capNanoUsd),
    ...(budget.repo === '' ? {} : { repo: budget.repo }),
    resets_at: isoTime(resetsAt),
  };
}
