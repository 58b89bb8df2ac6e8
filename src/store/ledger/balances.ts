import type { Calendar } from '../../calendar.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { type BalanceRow, createBalanceRows, type Mark, type WindowSums } from './balance-rows.ts';
import type { EmitEvent } from './events.ts';
import { type BudgetTerms, boundariesBetween, budgetName, runningPeriod, thresholdOf } from './terms.ts';

/** What a budget has spent and holds in the period (or window) that is running. */
export interface Standing {
  budget: BudgetTerms;
  posted: NanoUsd;
  pending: NanoUsd;
  /** When the period ends, or the window's oldest spend leaves it. */
  resetsAt: number;
}

/**
 * The budgets that batches touch. They are read under the write lock, changed in memory by the commands in order, and
 * written back once a batch. What was read stays until somebody else has written: the database is the authority,
 * whichever process asks.
 */
export interface Balances {
  /** Starts a batch at a time. */
  begin(now: number): void;
  /** The budgets of a project, rolled into the running period. */
  standings(projectId: number): Standing[];
  /** Those of them that count a request from a repository (empty: from none that is known). */
  standingsFor(projectId: number, repo: string): Standing[];
  /** Reserves; returns what must be given back to `post`. */
  reserve(projectId: number, repo: string, amount: NanoUsd): Charge[];
  /**
   * Turns a reservation into spend. An actual cost of 0 gives it back. It counts in the period that it was reserved
   * in; only the running period of a budget that is not removed has events.
   */
  post(projectId: number, charges: Charge[], reserved: NanoUsd, actual: NanoUsd): void;
  /** Says that a request was refused for lack of room in a budget. */
  refuse(projectId: number, budgetId: number): void;
  /** Rolls every budget into the period that is running. */
  rollAll(): void;
  /**
   * Books what was spent before the budget existed, so that a cap set at noon counts the morning, and what requests
   * that run hold: `charge` adds the new budget's charge to their holds and returns the sum of them.
   */
  seed(projectId: number, budgetId: number, spent: NanoUsd, charge: (charge: Charge) => NanoUsd): void;
  /**
   * Writes the events that a new or changed budget earns. What its old terms have told, and is still so, is not told
   * again: a threshold that stays crossed, a cap that stays reached.
   */
  recap(projectId: number, budgetId: number, old?: { version: number; cap: NanoUsd }): void;
  write(): void;
  /** Forgets all that was read: somebody else has written since, or the batch has failed. */
  forget(): void;
}

/** A budget id and a period start: the balance that an amount is reserved in. */
export type Charge = [budgetId: number, start: number];

/** One budget. */
interface Account {
  budget: BudgetTerms;
  /** Its balances that were read, by start. */
  balances: Map<number, BalanceRow>;
  /** Kept in step with the balances; undefined for a budget with periods, or one that is removed. */
  window: WindowSums | undefined;
}

/** The budgets of a project that are not removed. */
interface ProjectAccounts {
  accounts: Account[];
  /** The batch that brought them up to its time. */
  batch: number;
}

const MINUTE_MS = 60_000;
const MAX_REMEMBERED = 1_000;

export interface BalancesOptions {
  db: Db;
  calendar: () => Calendar;
  emit: EmitEvent;
}

export function createBalances({ db, calendar, emit }: BalancesOptions): Balances {
  const rows = createBalanceRows(db);
  let now = 0;
  let batch = 0;
  const ofProject = new Map<number, ProjectAccounts>();
  const byId = new Map<number, Account>();
  /** What the batch has changed. */
  const changed = new Map<BalanceRow, Account>();

  function accountsOf(projectId: number): Account[] {
    let project = ofProject.get(projectId);
    if (!project) {
      project = { accounts: rows.termsOf(projectId).map(remember), batch: 0 };
      ofProject.set(projectId, project);
    }
    if (project.batch !== batch) {
      project.batch = batch;
      for (const account of project.accounts) enter(account);
    }
    return project.accounts;
  }

  function accountsFor(projectId: number, repo: string): Account[] {
    const accounts = accountsOf(projectId);
    const counts = ({ budget }: Account) => budget.repo === '' || budget.repo === repo;
    return accounts.every(counts) ? accounts : accounts.filter(counts);
  }

  function reserveIn(account: Account, amount: NanoUsd): Charge {
    const balance = runningBalance(account);
    change(account, balance, 0, amount);
    return [account.budget.id, balance.start];
  }

  /** Brings an account up to the time of the batch. */
  function enter(account: Account): void {
    const { budget } = account;
    // Before the batch changes a balance: the sums are of what is stored.
    if (budget.period === 'rolling') account.window = rows.sum(budget, windowStart(budget));
    else roll(account);
  }

  function remember(budget: BudgetTerms): Account {
    const account: Account = { budget, balances: new Map(), window: undefined };
    byId.set(budget.id, account);
    return account;
  }

  function accountById(projectId: number, budgetId: number): Account | undefined {
    accountsOf(projectId);
    const known = byId.get(budgetId);
    if (known) return known;
    const removed = rows.termsById(budgetId);
    return removed && remember(removed);
  }

  /** Enters the running period. A clock that moved back stays in the period it had reached. */
  function roll(account: Account): void {
    const { budget } = account;
    const span = runningPeriod(budget, now, calendar());
    if (span.start <= budget.currentStart) return;
    emit('budget.reset', budget.projectId, {
      budget_id: budgetName(budget),
      ...(budget.repo === '' ? {} : { repo: budget.repo }),
      period: budget.period,
      period_start: new Date(span.start).toISOString(),
      resets_at: new Date(span.end).toISOString(),
      skipped: boundariesBetween(budget, span.start, calendar()) - 1,
      spent_usd: usdNumber(balanceOf(account, budget.currentStart).posted),
      cap_usd: usdNumber(budget.capNanoUsd),
    });
    account.balances.clear();
    budget.currentStart = span.start;
    rows.advance(budget.id, span.start);
  }

  function balanceOf({ budget, balances }: Account, start: number): BalanceRow {
    let balance = balances.get(start);
    if (!balance) {
      balance = rows.read(budget.id, start);
      balances.set(start, balance);
    }
    return balance;
  }

  /** Where a reservation made now is booked, and a mark is set. */
  function runningBalance(account: Account): BalanceRow {
    const { budget } = account;
    return balanceOf(account, budget.period === 'rolling' ? now - (now % MINUTE_MS) : budget.currentStart);
  }

  /** Minutes that start later than this are in the window, whole or in part. */
  function windowStart(budget: BudgetTerms): number {
    return now - (budget.windowMs ?? 0) - MINUTE_MS;
  }

  function standingOf(account: Account): Standing {
    const { budget, window } = account;
    if (window) {
      const { posted, pending, oldest } = window;
      return {
        budget,
        posted,
        pending,
        resetsAt: Math.min(oldest ?? now, now) + (budget.windowMs ?? 0) + MINUTE_MS,
      };
    }
    const { posted, pending } = balanceOf(account, budget.currentStart);
    return {
      budget,
      posted,
      pending,
      resetsAt: runningPeriod(budget, budget.currentStart, calendar()).end,
    };
  }

  function change(account: Account, balance: BalanceRow, posted: NanoUsd, pending: NanoUsd): void {
    const { budget, window } = account;
    balance.posted += posted;
    balance.pending += pending;
    changed.set(balance, account);
    if (!window) return;
    window.pending += pending;
    if (posted === 0 || balance.start <= windowStart(budget)) return;
    window.posted += posted;
    window.oldest = Math.min(window.oldest ?? balance.start, balance.start);
  }

  /** Writes the events that spend has earned: each once per budget, period (or window) and version of the cap. */
  function announce(account: Account): void {
    const standing = standingOf(account);
    const { posted, budget } = standing;
    if (posted > 0 && posted >= thresholdOf(budget)) {
      tell(account, 'budget.threshold_reached', 'thresholdVersion', standing);
    }
    if (posted >= budget.capNanoUsd) tell(account, 'budget.exceeded', 'exceededVersion', standing);
  }

  function tell(
    account: Account,
    type: 'budget.threshold_reached' | 'budget.exceeded',
    mark: Mark,
    standing = standingOf(account),
  ): void {
    const { budget, window } = account;
    const told = window ? window[mark] : runningBalance(account)[mark] === budget.capVersion;
    if (told) return;
    setMark(account, mark);
    emit(type, budget.projectId, standingData(standing));
  }

  /** On the minute of now, for a rolling budget: the mark must not leave the window before what it tells of. */
  function setMark(account: Account, mark: Mark): void {
    const balance = runningBalance(account);
    balance[mark] = account.budget.capVersion;
    changed.set(balance, account);
    if (account.window) account.window[mark] = true;
  }

  /** Whether an earlier version of the cap has told; the batch that asks has set no marks yet. */
  function wasTold(account: Account, mark: Mark, version: number): boolean {
    const { budget } = account;
    if (budget.period !== 'rolling') return runningBalance(account)[mark] === version;
    return rows.isMarked(budget.id, windowStart(budget), mark, version);
  }

  function forget(): void {
    ofProject.clear();
    byId.clear();
    changed.clear();
  }

  return {
    begin(time) {
      now = time;
      batch++;
    },
    standings: (projectId) => accountsOf(projectId).map(standingOf),
    standingsFor: (projectId, repo) => accountsFor(projectId, repo).map(standingOf),
    reserve: (projectId, repo, amount) =>
      accountsFor(projectId, repo).map((account) => reserveIn(account, amount)),
    post(projectId, charges, reserved, actual) {
      const live = accountsOf(projectId);
      for (const [budgetId, start] of charges) {
        const account = accountById(projectId, budgetId);
        if (!account) continue;
        change(account, balanceOf(account, start), actual, -reserved);
        const running = account.window !== undefined || start === account.budget.currentStart;
        if (actual > 0 && running && live.includes(account)) announce(account);
      }
    },
    refuse(projectId, budgetId) {
      const account = accountById(projectId, budgetId);
      if (account) tell(account, 'budget.exceeded', 'exceededVersion');
    },
    seed(projectId, budgetId, spent, charge) {
      const account = accountById(projectId, budgetId);
      if (!account) return;
      const balance = runningBalance(account);
      change(account, balance, spent, charge([budgetId, balance.start]));
    },
    recap(projectId, budgetId, old) {
      const account = accountById(projectId, budgetId);
      if (!account) return;
      const { budget } = account;
      if (old && old.version !== budget.capVersion) {
        const stillCrossed = standingOf(account).posted >= thresholdOf(budget);
        const sameCap = old.cap === budget.capNanoUsd;
        if (stillCrossed && wasTold(account, 'thresholdVersion', old.version)) {
          setMark(account, 'thresholdVersion');
        }
        if (sameCap && wasTold(account, 'exceededVersion', old.version)) setMark(account, 'exceededVersion');
      }
      announce(account);
    },
    rollAll() {
      for (const projectId of rows.projects()) accountsOf(projectId);
    },
    write() {
      for (const [balance, { budget, balances, window }] of changed) {
        rows.write(budget.id, balance);
        if (window) rows.writeWindow(budget.id, windowStart(budget), window.posted);
        // Another period's, or a minute's: the next batch may not come back to it.
        if (balance.start !== budget.currentStart) balances.delete(balance.start);
      }
      changed.clear();
      if (byId.size > MAX_REMEMBERED) forget();
    },
    forget,
  };
}

function standingData(standing: Standing): Record<string, unknown> {
  return {
    budget_id: budgetName(standing.budget),
    period: standing.budget.period,
    spent_usd: usdNumber(standing.posted),
    held_usd: usdNumber(standing.pending),
    cap_usd: usdNumber(standing.budget.capNanoUsd),
    alert_percent: standing.budget.alertPercent,
    ...(standing.budget.repo === '' ? {} : { repo: standing.budget.repo }),
    resets_at: new Date(standing.resetsAt).toISOString(),
  };
}
