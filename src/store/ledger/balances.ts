import type { Calendar, Span } from '../../calendar.ts';
import { type NanoUsd, usdNumber } from '../../money.ts';
import type { Db } from '../open.ts';
import type { EmitEvent } from './events.ts';

export type BudgetPeriod = 'daily' | 'monthly' | 'rolling';

/** A budget as the ledger needs it. */
export interface BudgetTerms {
  id: number;
  projectId: number;
  projectName: string;
  period: BudgetPeriod;
  windowMs: number | null;
  capNanoUsd: NanoUsd;
  alertPercent: number;
  capVersion: number;
  currentStart: number;
}

/** The spend of one budget in one period (a minute, for rolling budgets). */
export interface Balance {
  budget: BudgetTerms;
  start: number;
  posted: NanoUsd;
  pending: NanoUsd;
  thresholdVersion: number;
  exceededVersion: number;
  dirty: boolean;
}

/** What a budget has spent and holds in the period (or window) that is running. */
export interface Standing {
  budget: BudgetTerms;
  posted: NanoUsd;
  pending: NanoUsd;
  /** When the period ends, or the window's oldest spend leaves it. */
  resetsAt: number;
}

/**
 * The budgets that a batch touches. They are read once, under the write lock, changed in memory by the commands in
 * order, and written back once: the database is the authority, whichever process asks.
 */
export interface Balances {
  /** Starts a batch at a time. */
  begin(now: number): void;
  /** The budgets of a project, rolled into the running period. */
  standings(projectId: number): Standing[];
  /** Reserves; returns what must be given back to `post`. */
  reserve(projectId: number, amount: NanoUsd): Charge[];
  /**
   * Turns a reservation into spend. An actual cost of 0 gives it back. It counts in the period that it was reserved
   * in; only the running period of a budget that is not removed has events.
   */
  post(projectId: number, charges: Charge[], reserved: NanoUsd, actual: NanoUsd): void;
  /** Says that a request was refused for lack of room in a budget. */
  refuse(standing: Standing): void;
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
  clear(): void;
}

/** A budget id and a period start: the balance that an amount is reserved in. */
export type Charge = [budgetId: number, start: number];

/** The columns that say for which version of the cap an event was written last. */
type Mark = 'thresholdVersion' | 'exceededVersion';

const MINUTE_MS = 60_000;

interface BalanceRow {
  start: number;
  posted: number;
  pending: number;
  thresholdVersion: number;
  exceededVersion: number;
}

const BALANCE_COLUMNS = `start, posted_nano_usd AS posted, pending_nano_usd AS pending,
  threshold_version AS thresholdVersion, exceeded_version AS exceededVersion`;

export interface BalancesOptions {
  db: Db;
  calendar: () => Calendar;
  emit: EmitEvent;
}

export function createBalances({ db, calendar, emit }: BalancesOptions): Balances {
  const terms = `SELECT b.id, b.project_id AS projectId, p.name AS projectName, b.period, b.window_ms AS windowMs,
    b.cap_nano_usd AS capNanoUsd, b.alert_percent AS alertPercent, b.cap_version AS capVersion,
    b.current_start AS currentStart FROM budgets b JOIN projects p ON p.id = b.project_id`;
  const selectProject = db.prepare<[number], BudgetTerms>(
    `${terms} WHERE b.project_id = ? AND b.removed_at IS NULL`,
  );
  const selectBudget = db.prepare<[number], BudgetTerms>(`${terms} WHERE b.id = ?`);
  const selectAll = db.prepare<[], { projectId: number }>(
    'SELECT DISTINCT project_id AS projectId FROM budgets WHERE removed_at IS NULL',
  );
  const selectBalance = db.prepare<[number, number], BalanceRow>(
    `SELECT ${BALANCE_COLUMNS} FROM budget_periods WHERE budget_id = ? AND start = ?`,
  );
  const selectWindow = db.prepare<[number, number], BalanceRow>(
    `SELECT ${BALANCE_COLUMNS} FROM budget_periods WHERE budget_id = ? AND (start > ? OR pending_nano_usd > 0)`,
  );
  const upsert = db.prepare(
    `INSERT INTO budget_periods (budget_id, start, posted_nano_usd, pending_nano_usd, threshold_version, exceeded_version)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET posted_nano_usd = excluded.posted_nano_usd,
     pending_nano_usd = excluded.pending_nano_usd, threshold_version = excluded.threshold_version,
     exceeded_version = excluded.exceeded_version`,
  );
  const advance = db.prepare<[number, number]>('UPDATE budgets SET current_start = ? WHERE id = ?');

  let now = 0;
  const ofProject = new Map<number, BudgetTerms[]>();
  const byId = new Map<number, BudgetTerms>();
  const balances = new Map<string, Balance>();
  const windows = new Set<number>();

  function budgetsOf(projectId: number): BudgetTerms[] {
    let list = ofProject.get(projectId);
    if (!list) {
      list = selectProject.all(projectId);
      for (const budget of list) {
        byId.set(budget.id, budget);
        if (budget.period !== 'rolling') roll(budget);
      }
      ofProject.set(projectId, list);
    }
    return list;
  }

  function budgetById(id: number): BudgetTerms | undefined {
    let budget = byId.get(id);
    if (!budget) {
      budget = selectBudget.get(id);
      if (budget) byId.set(id, budget);
    }
    return budget;
  }

  /** Enters the running period. A clock that moved back stays in the period it had reached. */
  function roll(budget: BudgetTerms): void {
    const span = spanOf(budget.period, now, calendar());
    if (span.start <= budget.currentStart) return;
    const boundaries = boundariesBetween(budget, span.start, calendar());
    emit('budget.reset', budget.projectId, {
      budget_id: budgetName(budget),
      period: budget.period,
      period_start: new Date(span.start).toISOString(),
      resets_at: new Date(span.end).toISOString(),
      skipped: boundaries - 1,
      spent_usd: usdNumber(balanceOf(budget, budget.currentStart).posted),
      cap_usd: usdNumber(budget.capNanoUsd),
    });
    budget.currentStart = span.start;
    advance.run(span.start, budget.id);
  }

  function balanceOf(budget: BudgetTerms, start: number): Balance {
    const key = `${budget.id} ${start}`;
    let balance = balances.get(key);
    if (!balance) {
      balance = remember(budget, selectBalance.get(budget.id, start) ?? emptyRow(start));
    }
    return balance;
  }

  function remember(budget: BudgetTerms, row: BalanceRow): Balance {
    const balance = { budget, ...row, dirty: false };
    balances.set(`${budget.id} ${row.start}`, balance);
    return balance;
  }

  /** Minutes that start later than this are in the window, whole or in part. */
  function windowStart(budget: BudgetTerms): number {
    return now - (budget.windowMs ?? 0) - MINUTE_MS;
  }

  /** The minutes of a rolling budget that count now: those inside the window, and those with open holds. */
  function windowOf(budget: BudgetTerms): Balance[] {
    const from = windowStart(budget);
    if (!windows.has(budget.id)) {
      windows.add(budget.id);
      for (const row of selectWindow.all(budget.id, from)) {
        if (!balances.has(`${budget.id} ${row.start}`)) remember(budget, row);
      }
    }
    return [...balances.values()].filter(
      (b) => b.budget.id === budget.id && (b.start > from || b.pending > 0),
    );
  }

  function standingOf(budget: BudgetTerms): Standing {
    if (budget.period !== 'rolling') {
      const balance = balanceOf(budget, budget.currentStart);
      const { end } = spanOf(budget.period, budget.currentStart, calendar());
      return { budget, posted: balance.posted, pending: balance.pending, resetsAt: end };
    }
    const window = windowOf(budget);
    const from = windowStart(budget);
    const spent = window.filter((b) => b.start > from && b.posted > 0);
    const oldest = spent.reduce((least, b) => Math.min(least, b.start), now);
    return {
      budget,
      posted: spent.reduce((sum, b) => sum + b.posted, 0),
      pending: window.reduce((sum, b) => sum + b.pending, 0),
      resetsAt: oldest + (budget.windowMs ?? 0) + MINUTE_MS,
    };
  }

  /** Where a reservation made now is booked. */
  function startFor(budget: BudgetTerms): number {
    return budget.period === 'rolling' ? now - (now % MINUTE_MS) : budget.currentStart;
  }

  /** Writes the events that spend has earned: each once per budget, period (or window) and version of the cap. */
  function announce(budget: BudgetTerms): void {
    const standing = standingOf(budget);
    if (standing.posted > 0 && standing.posted >= thresholdOf(budget)) {
      tell('budget.threshold_reached', 'thresholdVersion', standing);
    }
    if (standing.posted >= budget.capNanoUsd) tell('budget.exceeded', 'exceededVersion', standing);
  }

  function tell(type: 'budget.threshold_reached' | 'budget.exceeded', mark: Mark, standing: Standing): void {
    const { budget } = standing;
    if (isTold(budget, mark, budget.capVersion)) return;
    setMark(budget, mark);
    emit(type, budget.projectId, standingData(standing));
  }

  function isTold(budget: BudgetTerms, mark: Mark, version: number): boolean {
    if (budget.period !== 'rolling') return balanceOf(budget, budget.currentStart)[mark] === version;
    const from = windowStart(budget);
    return windowOf(budget).some((b) => b.start > from && b[mark] === version);
  }

  /** On the minute of now, for a rolling budget: the mark must not leave the window before what it tells of. */
  function setMark(budget: BudgetTerms, mark: Mark): void {
    const balance = balanceOf(budget, startFor(budget));
    balance[mark] = budget.capVersion;
    balance.dirty = true;
  }

  return {
    begin(time) {
      now = time;
    },
    standings: (projectId) => budgetsOf(projectId).map(standingOf),
    reserve(projectId, amount) {
      return budgetsOf(projectId).map((budget): Charge => {
        const balance = balanceOf(budget, startFor(budget));
        balance.pending += amount;
        balance.dirty = true;
        return [budget.id, balance.start];
      });
    },
    post(projectId, charges, reserved, actual) {
      const live = budgetsOf(projectId);
      for (const [budgetId, start] of charges) {
        const budget = budgetById(budgetId);
        if (!budget) continue;
        const balance = balanceOf(budget, start);
        balance.pending -= reserved;
        balance.posted += actual;
        balance.dirty = true;
        const running = budget.period === 'rolling' || start === budget.currentStart;
        if (actual > 0 && running && live.includes(budget)) announce(budget);
      }
    },
    refuse: (standing) => tell('budget.exceeded', 'exceededVersion', standing),
    seed(projectId, budgetId, spent, charge) {
      const budget = budgetsOf(projectId).find((b) => b.id === budgetId);
      if (!budget) return;
      const balance = balanceOf(budget, startFor(budget));
      balance.posted += spent;
      balance.pending += charge([budgetId, balance.start]);
      balance.dirty = true;
    },
    recap(projectId, budgetId, old) {
      const budget = budgetsOf(projectId).find((b) => b.id === budgetId);
      if (!budget) return;
      if (old && old.version !== budget.capVersion) {
        const stillCrossed = standingOf(budget).posted >= thresholdOf(budget);
        if (stillCrossed && isTold(budget, 'thresholdVersion', old.version))
          setMark(budget, 'thresholdVersion');
        const sameCap = old.cap === budget.capNanoUsd;
        if (sameCap && isTold(budget, 'exceededVersion', old.version)) setMark(budget, 'exceededVersion');
      }
      announce(budget);
    },
    rollAll() {
      for (const { projectId } of selectAll.all()) budgetsOf(projectId);
    },
    write() {
      for (const b of balances.values()) {
        if (!b.dirty) continue;
        upsert.run(b.budget.id, b.start, b.posted, b.pending, b.thresholdVersion, b.exceededVersion);
      }
    },
    clear() {
      ofProject.clear();
      byId.clear();
      balances.clear();
      windows.clear();
    },
  };
}

const emptyRow = (start: number): BalanceRow => ({
  start,
  posted: 0,
  pending: 0,
  thresholdVersion: 0,
  exceededVersion: 0,
});

/** The running period of a daily or monthly budget. */
export function spanOf(period: BudgetPeriod, timeMs: number, calendar: Calendar): Span {
  return period === 'monthly' ? calendar.month(timeMs) : calendar.day(timeMs);
}

/** The spend at which a budget's alert goes out. */
export function thresholdOf(budget: Pick<BudgetTerms, 'capNanoUsd' | 'alertPercent'>): NanoUsd {
  // In two parts: cap times percent is past what a number holds exactly from $90,000 on.
  const { capNanoUsd: cap, alertPercent } = budget;
  return Math.floor(cap / 100) * alertPercent + Math.ceil(((cap % 100) * alertPercent) / 100);
}

/** A budget's public id: `web/daily`. */
export function budgetName(budget: Pick<BudgetTerms, 'projectName' | 'period'>): string {
  return `${budget.projectName}/${budget.period}`;
}

function boundariesBetween(budget: BudgetTerms, until: number, calendar: Calendar): number {
  let count = 0;
  // Stepping by whole periods; a budget that slept for years still ends within a few thousand steps.
  for (let start = budget.currentStart; start < until; count++)
    start = spanOf(budget.period, start, calendar).end;
  return count;
}

function standingData(standing: Standing): Record<string, unknown> {
  return {
    budget_id: budgetName(standing.budget),
    period: standing.budget.period,
    spent_usd: usdNumber(standing.posted),
    held_usd: usdNumber(standing.pending),
    cap_usd: usdNumber(standing.budget.capNanoUsd),
    alert_percent: standing.budget.alertPercent,
    resets_at: new Date(standing.resetsAt).toISOString(),
  };
}
