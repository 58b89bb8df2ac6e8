import type { Calendar } from '../../src/calendar.ts';
import { timeOfRequestId } from '../../src/ids.ts';
import type { BudgetPeriod } from '../../src/store/ledger/terms.ts';

/**
 * What the ledger should do, in the plainest terms: every amount ever reserved or booked is an entry in a list, and
 * what a budget has spent or holds is the sum of a filter over that list.
 */
export interface Entry {
  budgetId: number;
  start: number;
  /** Of a request that holds or held it; null for what was spent before the budget. */
  requestId: number | null;
  amount: number;
  /** Null while the hold is open. */
  actual: number | null;
}

interface Mark {
  start: number;
  version: number;
}

export interface OracleBudget {
  id: number;
  projectId: number;
  period: BudgetPeriod;
  windowMs: number;
  /** Empty: it counts all of the project's requests. */
  repo: string;
  cap: number;
  alert: number;
  version: number;
  currentStart: number;
  live: boolean;
  thresholdMarks: Mark[];
  exceededMarks: Mark[];
}

type OracleSettings = Pick<OracleBudget, 'projectId' | 'period' | 'windowMs' | 'repo' | 'cap' | 'alert'>;

export interface OracleRequest {
  id: number;
  projectId: number;
  slot: number;
  amount: number;
  open: boolean;
  cost: number;
  /** The repository that its hold names, or its record once it is settled; '' while that is not known. */
  repo: string;
}

export interface Ask {
  id: number;
  projectId: number;
  slot: number;
  repo: string;
  amount: number;
  least: number;
  /** What a small request costs. */
  small: number;
  cut: boolean;
  isFinal: boolean;
}

export type Expected =
  | { kind: 'held'; amount: number; remaining: number | null; spentOfCap: number }
  | { kind: 'needs_count' | 'wait' | 'blocked' };

export type ExpectedAgain =
  | { kind: 'held'; amount: number; remaining: number | null }
  /** `blocked`: there is no other way to go on, so that a refusal is the request's end. */
  | { kind: 'refused'; blocked: boolean }
  | { kind: 'resolved_before' };

const MINUTE_MS = 60_000;

export class Oracle {
  now = 0;
  calendar: Calendar;
  budgets: OracleBudget[] = [];
  entries: Entry[] = [];
  requests: OracleRequest[] = [];
  /** The events that are due, as `type budget` (with `+k` for skipped boundaries). */
  events: string[] = [];
  /** Records of refused requests and others that held nothing. */
  otherRecords: { id: number; projectId: number; cost: number; repo: string }[] = [];
  private queued = new Set<string>();

  constructor(calendar: Calendar) {
    this.calendar = calendar;
  }

  beginBatch(): void {
    this.queued.clear();
  }

  admit(ask: Ask): Expected {
    const budgets = this.touch(ask.projectId, ask.repo);
    const rooms = budgets.map((b) => b.cap - this.posted(b) - this.pending(b));
    const room = Math.min(...rooms);
    const hold = (amount: number): Expected => {
      this.requests.push({ ...ask, amount, open: true, cost: 0 });
      for (const b of budgets) this.reserve(b, ask.id, amount);
      const spentOfCap = Math.max(0, ...budgets.map((b) => this.posted(b) / Math.max(1, b.cap)));
      return { kind: 'held', amount, remaining: budgets.length > 0 ? room - amount : null, spentOfCap };
    };
    if (budgets.length === 0 || ask.amount === 0) return hold(ask.amount);
    const line = `${ask.projectId} ${ask.repo}`;
    const behind = this.queued.has(line);
    if (!behind && ask.amount <= room) return hold(ask.amount);
    if (!ask.isFinal) return { kind: 'needs_count' };
    if (!behind && ask.cut && room >= ask.least) return hold(Math.min(room, ask.amount));
    if (this.blocks(budgets, ask.least, ask.small)) {
      this.otherRecords.push({ id: ask.id, projectId: ask.projectId, cost: 0, repo: ask.repo });
      return { kind: 'blocked' };
    }
    this.queued.add(line);
    return { kind: 'wait' };
  }

  /** Whether a budget has too little left in its period; it is exceeded if it can't pay for a small request either. */
  private blocks(budgets: OracleBudget[], needed: number, small: number): boolean {
    const unspent = budgets.map((b) => b.cap - this.posted(b));
    const least = Math.min(...unspent);
    const tightest = budgets[unspent.indexOf(least)];
    if (!tightest || needed <= least) return false;
    if (least < small) this.tellExceeded(tightest, this.startFor(tightest));
    this.events.push(`request.blocked ${nameOf(tightest)}`);
    return true;
  }

  /** Exchanges a hold for what was spent and the next worst case. */
  readmit(ask: Omit<Ask, 'projectId' | 'isFinal'> & { spent: number; only: boolean }): ExpectedAgain {
    const request = this.requests.find((r) => r.id === ask.id && r.open);
    if (!request) return { kind: 'resolved_before' };
    this.entries = this.entries.filter(({ requestId }) => requestId !== ask.id);
    request.repo = ask.repo;
    const budgets = this.touch(request.projectId, ask.repo);
    const room = Math.min(...budgets.map((b) => b.cap - this.posted(b) - this.pending(b)));
    const left = room - ask.spent;
    const fits = budgets.length === 0 || ask.amount === 0 || ask.amount <= left;
    const cut = ask.cut && left >= ask.least ? Math.min(left, ask.amount) : undefined;
    const next = fits ? ask.amount : cut;
    request.amount = ask.spent + (next ?? 0);
    request.slot = ask.slot;
    for (const b of budgets) this.reserve(b, ask.id, request.amount);
    if (next === undefined)
      return { kind: 'refused', blocked: ask.only && this.blocks(budgets, ask.spent + ask.least, ask.small) };
    const remaining = budgets.length > 0 ? room - request.amount : null;
    return { kind: 'held', amount: request.amount, remaining };
  }

  /** False if the hold was resolved before. `repo` is the repository if it is known by now. */
  settle(id: number, cost: number, repo: string): boolean {
    const request = this.requests.find((r) => r.id === id && r.open);
    if (!request) return false;
    request.open = false;
    request.cost = cost;
    request.repo = repo;
    const own = this.entries.filter((entry) => entry.requestId === id);
    const budgets = own.length > 0 ? this.touch(request.projectId) : [];
    for (const entry of own) {
      entry.actual = cost;
      const budget = budgets.find((b) => b.id === entry.budgetId);
      if (!budget || cost === 0) continue;
      if (budget.period === 'rolling') this.announce(budget, this.startFor(budget));
      else if (entry.start === budget.currentStart) this.announce(budget, entry.start);
    }
    return true;
  }

  /** The repository of a request becomes known: its record gets it, a hold does not. */
  find(id: number, repo: string): void {
    const closed = this.requests.filter((r) => !r.open);
    const record = [...closed, ...this.otherRecords].find((r) => r.id === id && r.repo === '');
    if (record) record.repo = repo;
  }

  setBudget(id: number, settings: OracleSettings): void {
    const known = this.budgets.find((b) => b.id === id);
    if (known) this.changeBudget(known, settings);
    else this.addBudget(id, settings);
  }

  private addBudget(id: number, settings: OracleSettings): void {
    const { projectId, period, repo } = settings;
    const counts = (r: { projectId: number; repo?: string }) =>
      r.projectId === projectId && (repo === '' || r.repo === repo);
    const currentStart = period === 'rolling' ? this.now : this.spanStart(period);
    const budget: OracleBudget = {
      id,
      ...settings,
      version: 1,
      currentStart,
      live: true,
      thresholdMarks: [],
      exceededMarks: [],
    };
    this.budgets.push(budget);
    this.touch(projectId);
    const since = period === 'rolling' ? this.now - settings.windowMs : currentStart;
    const start = this.startFor(budget);
    const spent = [...this.requests.filter((r) => !r.open), ...this.otherRecords]
      .filter((r) => counts(r) && timeOfRequestId(r.id) >= since)
      .reduce((sum, r) => sum + r.cost, 0);
    if (spent > 0) this.entries.push({ budgetId: id, start, requestId: null, amount: spent, actual: spent });
    for (const r of this.requests) {
      if (r.open && counts(r) && timeOfRequestId(r.id) >= since) this.reserve(budget, r.id, r.amount);
    }
    this.announce(budget, start);
  }

  private changeBudget(budget: OracleBudget, settings: OracleSettings): void {
    const { cap, version: old } = budget;
    const changed =
      settings.cap !== cap || settings.alert !== budget.alert || settings.windowMs !== budget.windowMs;
    Object.assign(budget, settings);
    this.touch(budget.projectId);
    const start = this.startFor(budget);
    const thresholdTold = this.told(budget, budget.thresholdMarks, start);
    const exceededTold = this.told(budget, budget.exceededMarks, start);
    if (changed) budget.version = old + 1;
    if (changed && thresholdTold && this.posted(budget) >= thresholdOf(budget))
      budget.thresholdMarks.push({ start, version: budget.version });
    if (changed && exceededTold && settings.cap === cap)
      budget.exceededMarks.push({ start, version: budget.version });
    this.announce(budget, start);
  }

  removeBudget(projectId: number, period: BudgetPeriod, repo: string): boolean {
    const budget = this.liveOf(projectId).find((b) => b.period === period && b.repo === repo);
    if (budget) budget.live = false;
    return budget !== undefined;
  }

  rollAll(): void {
    for (const projectId of new Set(this.budgets.filter((b) => b.live).map((b) => b.projectId)))
      this.touch(projectId);
  }

  closeHolds(slot: number): number {
    const open = this.requests.filter((r) => r.open && r.slot === slot);
    for (const r of open.sort((a, b) => a.id - b.id)) this.settle(r.id, r.amount, r.repo);
    return open.length;
  }

  liveOf(projectId: number): OracleBudget[] {
    const order = { daily: 0, monthly: 1, rolling: 2, lifetime: 3, weekly: 4 };
    return this.budgets
      .filter((b) => b.live && b.projectId === projectId)
      .sort((a, b) => order[a.period] - order[b.period] || (a.repo < b.repo ? -1 : 1));
  }

  posted(budget: OracleBudget): number {
    return this.counted(budget).reduce((sum, entry) => sum + (entry.actual ?? 0), 0);
  }

  pending(budget: OracleBudget): number {
    return this.entries
      .filter((e) => e.budgetId === budget.id && e.actual === null)
      .filter((e) => budget.period === 'rolling' || e.start === budget.currentStart)
      .reduce((sum, entry) => sum + entry.amount, 0);
  }

  /** The live budgets of a project, in the running period; with a repository, those that count its requests. */
  touch(projectId: number, repo?: string): OracleBudget[] {
    const budgets = this.liveOf(projectId);
    for (const budget of budgets) {
      if (budget.period === 'rolling') continue;
      const start = this.spanStart(budget.period);
      if (start <= budget.currentStart) continue;
      let boundaries = 0;
      for (let at = budget.currentStart; at < start; boundaries++) at = this.span(budget.period, at).end;
      this.events.push(`budget.reset ${nameOf(budget)} +${boundaries - 1}`);
      budget.currentStart = start;
    }
    return repo === undefined ? budgets : budgets.filter((b) => b.repo === '' || b.repo === repo);
  }

  private counted(budget: OracleBudget): Entry[] {
    const own = this.entries.filter((e) => e.budgetId === budget.id);
    if (budget.period !== 'rolling') return own.filter((e) => e.start === budget.currentStart);
    return own.filter((e) => e.start + MINUTE_MS > this.now - budget.windowMs);
  }

  private reserve(budget: OracleBudget, requestId: number, amount: number): void {
    const start = this.startFor(budget);
    this.entries.push({ budgetId: budget.id, start, requestId, amount, actual: null });
  }

  private announce(budget: OracleBudget, start: number): void {
    const posted = this.posted(budget);
    if (posted > 0 && posted >= thresholdOf(budget) && !this.told(budget, budget.thresholdMarks, start)) {
      budget.thresholdMarks.push({ start, version: budget.version });
      this.events.push(`budget.threshold_reached ${nameOf(budget)}`);
    }
    if (posted >= budget.cap) this.tellExceeded(budget, start);
  }

  private tellExceeded(budget: OracleBudget, start: number): void {
    if (this.told(budget, budget.exceededMarks, start)) return;
    budget.exceededMarks.push({ start, version: budget.version });
    this.events.push(`budget.exceeded ${nameOf(budget)}`);
  }

  private told(budget: OracleBudget, marks: Mark[], start: number): boolean {
    return marks.some(
      (mark) =>
        mark.version === budget.version &&
        (budget.period === 'rolling'
          ? mark.start + MINUTE_MS > this.now - budget.windowMs
          : mark.start === start),
    );
  }

  private startFor(budget: OracleBudget): number {
    return budget.period === 'rolling' ? this.now - (this.now % MINUTE_MS) : budget.currentStart;
  }

  private spanStart(period: BudgetPeriod): number {
    return this.span(period, this.now).start;
  }

  private span(period: BudgetPeriod, at: number) {
    if (period === 'weekly') return this.calendar.week(at);
    return period === 'daily' ? this.calendar.day(at) : this.calendar.month(at);
  }
}

export function nameOf(budget: Pick<OracleBudget, 'projectId' | 'period' | 'repo'>): string {
  return `p${budget.projectId}/${budget.period}${budget.repo === '' ? '' : `@${budget.repo}`}`;
}

/** The least whole amount that is at least `alert` percent of the cap. */
export function thresholdOf({ cap, alert }: Pick<OracleBudget, 'cap' | 'alert'>): number {
  return Number((BigInt(cap) * BigInt(alert) + 99n) / 100n);
}
