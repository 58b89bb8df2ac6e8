import type { Calendar } from '../../src/calendar.ts';
import { timeOfRequestId } from '../../src/ids.ts';
import type { AskState } from '../../src/store/ledger/asks.ts';
import type { BudgetPeriod, OnLimit } from '../../src/store/ledger/terms.ts';
import { spread } from './simulator-windows.ts';

/** What a request is of: what it is counted by besides its project. */
export interface Client {
  repo: string;
  key: number;
  session: string;
}

/** What a budget is for; a cap for `each` of a kind has members. */
export interface OracleScope {
  kind: '' | 'key' | 'session' | 'each';
  value: string;
}

/**
 * What the ledger should do, in the plainest terms: every amount ever reserved or booked is an entry in a list, and
 * what a budget has spent or holds is the sum of a filter over that list.
 */
export interface Entry {
  budget: OracleBudget;
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
  projectId: number;
  period: BudgetPeriod;
  windowMs: number;
  /** Empty: it counts all of the project's requests. */
  repo: string;
  scope: OracleScope;
  /** The cap for each that it is a member of. */
  parent: OracleBudget | undefined;
  cap: number;
  alert: number;
  onLimit: OnLimit;
  version: number;
  currentStart: number;
  live: boolean;
  thresholdMarks: Mark[];
  exceededMarks: Mark[];
  /** What its periods were charged of later ones, by their starts. */
  early: Map<number, number>;
  /** The period that gives the future back, at its end, what it has no room for. */
  earlyStart: number | undefined;
}

type OracleSettings = Pick<
  OracleBudget,
  'projectId' | 'period' | 'windowMs' | 'repo' | 'scope' | 'cap' | 'alert' | 'onLimit'
>;

export interface OracleRequest {
  id: number;
  /** When it came in. */
  at: number;
  projectId: number;
  slot: number;
  amount: number;
  open: boolean;
  cost: number;
  /** The repository that its hold names, or its record once it is settled; '' while that is not known. */
  repo: string;
  key: number;
  session: string;
  /** What its owner has allowed it beyond the caps of budgets that ask. */
  allowed?: number | undefined;
}

export interface Ask extends Client {
  id: number;
  projectId: number;
  slot: number;
  amount: number;
  least: number;
  /** What a small request costs. */
  small: number;
  cut: boolean;
  isFinal: boolean;
  /** Budgets may send it to a cheaper model. */
  mayFall: boolean;
  /** What it is to hold if its owner approves it. */
  needed: number;
  /** Until when it can wait for an answer. */
  waitsUntil: number;
}

/** A request that waits for its owner's answer, or has waited. */
export interface Question {
  ask: Ask;
  state: AskState;
  budget: OracleBudget;
  allowed: number | null;
  createdAt: number;
  expiresAt: number;
}

/** What a provider runs for a request, whose hold it keeps. */
export interface OracleJob {
  id: string;
  requestId: number;
  createdAt: number;
  expiresAt: number;
}

const QUESTIONS_KEPT_MS = 86_400_000;

export type Expected =
  | {
      kind: 'held';
      amount: number;
      remaining: number | null;
      spentOfCap: number;
      allowed?: number | undefined;
    }
  | { kind: 'needs_count' | 'wait' | 'blocked' | 'ask' | 'fallback' };

export type ExpectedAgain =
  | { kind: 'held'; amount: number; remaining: number | null }
  /** `blocked`: there is no other way to go on, so that a refusal is the request's end. */
  | { kind: 'refused'; blocked: boolean }
  | { kind: 'resolved_before' };

const MINUTE_MS = 60_000;
const STEP_MS = 30_000;

/** Budgets that projects share have these instead of a project's id. */
export const SHARED = 12;
export const ALL = 123;
/** The projects of a budget; the first one is where a shared one is at home. */
const projectsOf = (id: number): readonly number[] =>
  id === SHARED ? [1, 2] : id === ALL ? [1, 2, 3] : [id];
const homeOf = (id: number): number => projectsOf(id)[0] ?? id;

const moneyOf = ({ amount, actual }: Entry): number => actual ?? amount;

export class Oracle {
  now: number;
  /** The latest time that has been seen, in steps of half a minute. */
  private reached = 0;
  calendar: Calendar;
  budgets: OracleBudget[] = [];
  entries: Entry[] = [];
  requests: OracleRequest[] = [];
  /** The events that are due, as `type budget` (with `+k` for skipped boundaries). */
  events: string[] = [];
  /** Records of refused requests and others that held nothing. */
  otherRecords: ({ id: number; at: number; projectId: number; cost: number } & Client)[] = [];
  questions: Question[] = [];
  jobs: OracleJob[] = [];
  private queued = new Set<string>();

  constructor(calendar: Calendar, now: number) {
    this.calendar = calendar;
    this.now = now;
    this.enter();
  }

  /** When a request came in: by its id, unless that is ahead of the clock. */
  private arrivalOf(id: number): number {
    return Math.min(timeOfRequestId(id), this.now);
  }

  addRecord(record: { id: number; projectId: number; cost: number } & Client): void {
    this.otherRecords.push({ ...record, at: this.arrivalOf(record.id) });
  }

  /**
   * Somebody looks at the clock, after it was moved. More than a minute back: nothing stays in the future. Forward: periods
   * that were charged for later ones hand on, at their end, what they had no room for.
   */
  enter(): void {
    const isBack = this.now < this.reached - MINUTE_MS;
    if (isBack) this.comeBack();
    for (const budget of this.budgets) this.handOn(budget);
    const step = this.now - (this.now % STEP_MS);
    this.reached = isBack ? step : Math.max(this.reached, step);
  }

  private comeBack(): void {
    const { now } = this;
    for (const record of [...this.requests, ...this.otherRecords]) record.at = Math.min(record.at, now);
    for (const each of [...this.questions, ...this.jobs]) {
      const ms = Math.max(0, each.createdAt - now);
      each.createdAt -= ms;
      each.expiresAt -= ms;
    }
    for (const budget of this.budgets) {
      const late = this.entries.filter((e) => e.budget === budget && e.start > now);
      budget.thresholdMarks = this.marksAt(budget, budget.thresholdMarks);
      budget.exceededMarks = this.marksAt(budget, budget.exceededMarks);
      if (budget.period === 'rolling') this.spread(budget, late);
      else this.charge(budget, late);
    }
  }

  /** A window does not tell again what it has told in the future; a period is another one. */
  private marksAt(budget: OracleBudget, marks: Mark[]): Mark[] {
    if (budget.period !== 'rolling') return marks.filter(({ start }) => start <= this.now);
    return marks.map((mark) => ({ ...mark, start: Math.min(mark.start, this.startFor(budget)) }));
  }

  /** The period that it is now is charged what later ones have spent and hold. */
  private charge(budget: OracleBudget, late: Entry[]): void {
    const start = this.spanStart(budget.period);
    const amount = late.reduce((sum, entry) => sum + moneyOf(entry), 0);
    for (const entry of late) entry.start = start;
    for (const at of budget.early.keys()) if (at > this.now) budget.early.delete(at);
    if (budget.currentStart > this.now) budget.currentStart = start;
    if (amount === 0) return;
    budget.early.set(start, (budget.early.get(start) ?? 0) + amount);
    budget.earlyStart = start;
  }

  /** The window that it is now is filled up, then those after it, so that none has to grant what was spent before. */
  private spread(budget: OracleBudget, late: Entry[]): void {
    const { cap, windowMs } = budget;
    const paid = late.filter(({ actual }) => actual !== null);
    const held = late
      .filter(({ actual }) => actual === null)
      .sort((a, b) => Number(a.requestId) - Number(b.requestId));
    this.entries = this.entries.filter((entry) => !paid.includes(entry));
    const others = this.entries.filter((e) => e.budget === budget && !held.includes(e));
    const used = others
      .filter((e) => e.actual === null || e.start + MINUTE_MS > this.now - windowMs)
      .reduce((sum, entry) => sum + moneyOf(entry), 0);
    const last = Math.max(0, ...late.filter((entry) => moneyOf(entry) > 0).map(({ start }) => start));
    const parts = spread(
      { cap, windowMs, now: this.now, used, last },
      paid.reduce((sum, entry) => sum + moneyOf(entry), 0),
      held.map(({ amount }) => amount),
    );
    for (const { start, amount } of parts.paid)
      this.entries.push({ budget, start, requestId: null, amount, actual: amount });
    for (const [i, entry] of held.entries()) entry.start = parts.held[i] ?? 0;
  }

  /** Spend before holds, and of these the newest first, as a whole. */
  private handOn(budget: OracleBudget): void {
    const { earlyStart: from, cap, period } = budget;
    if (from === undefined) return;
    const to = this.spanStart(period);
    if (to <= from) return;
    let periods = 0;
    for (let at = from; at < to; periods++) at = this.span(period, at).end;
    const own = this.entries.filter((e) => e.budget === budget && e.start === from);
    const early = budget.early.get(from) ?? 0;
    const total = own.reduce((sum, entry) => sum + moneyOf(entry), 0);
    const excess = Math.min(early, total - periods * cap);
    budget.earlyStart = excess > 0 ? to : undefined;
    if (excess <= 0) return;
    let moved = 0;
    for (const entry of own.filter(({ actual }) => actual !== null)) {
      const part = Math.min(Number(entry.actual), excess - moved);
      entry.actual = Number(entry.actual) - part;
      moved += part;
    }
    if (moved > 0) this.entries.push({ budget, start: to, requestId: null, amount: moved, actual: moved });
    const held = own.filter(({ actual }) => actual === null);
    for (const entry of held.sort((a, b) => Number(b.requestId) - Number(a.requestId))) {
      if (moved >= excess) break;
      entry.start = to;
      moved += entry.amount;
    }
    budget.early.set(from, Math.max(0, early - moved));
    budget.early.set(to, (budget.early.get(to) ?? 0) + moved);
  }

  beginBatch(): void {
    this.queued.clear();
  }

  admit(ask: Ask): Expected {
    const budgets = this.countersOf(ask.projectId, ask);
    const room = Math.min(...budgets.map((b) => this.roomOf(b)));
    const hold = (amount: number) => this.hold(ask, amount, budgets);
    if (budgets.length === 0 || ask.amount === 0) return hold(ask.amount);
    const bends = (needed: number) =>
      budgets.some((b) => b.onLimit === 'fallback' && needed > this.roomOf(b));
    if (ask.mayFall && bends(ask.amount))
      return { kind: ask.isFinal || bends(0) ? 'fallback' : 'needs_count' };
    const line = `${ask.projectId} ${ask.repo} ${ask.key} ${ask.session}`;
    const behind = this.queued.has(line);
    if (!behind && ask.amount <= room) return hold(ask.amount);
    if (!ask.isFinal) return { kind: 'needs_count' };
    if (!behind && ask.cut && room >= ask.least) return hold(Math.min(room, ask.amount));
    const full = this.fullFor(budgets, ask.least);
    if (full) return this.asks(budgets, ask, full) ?? this.block(ask, full);
    this.queued.add(line);
    return { kind: 'wait' };
  }

  private hold(ask: Ask, amount: number, budgets: OracleBudget[], allowed?: number): Expected {
    const room = Math.min(...budgets.map((b) => this.roomOf(b)));
    this.requests.push({ ...ask, at: this.arrivalOf(ask.id), amount, open: true, cost: 0, allowed });
    for (const b of budgets) this.reserve(b, ask.id, amount);
    const spentOfCap = Math.max(0, ...budgets.map((b) => this.posted(b) / Math.max(1, b.cap)));
    const remaining = budgets.length > 0 ? room - amount : null;
    return { kind: 'held', amount, remaining, spentOfCap, allowed };
  }

  private roomOf(budget: OracleBudget): number {
    return budget.cap - this.posted(budget) - this.pending(budget);
  }

  private unspent(budget: OracleBudget): number {
    return budget.cap - this.posted(budget);
  }

  /** The budget that has the least left, if that is too little even once every hold is released. */
  private fullFor(budgets: OracleBudget[], needed: number): OracleBudget | undefined {
    const least = Math.min(...budgets.map((b) => this.unspent(b)));
    return needed > least ? budgets.find((b) => this.unspent(b) === least) : undefined;
  }

  private block(ask: Ask, full: OracleBudget): Expected {
    const { id, projectId, repo, key, session, small } = ask;
    this.tellBlocked(full, small);
    this.addRecord({ id, projectId, cost: 0, repo, key, session });
    return { kind: 'blocked' };
  }

  private tellBlocked(full: OracleBudget, small: number): void {
    const { cap, alert } = full;
    const unspent = this.unspent(full);
    const wasPayable =
      small <= cap && cap - unspent >= thresholdOf({ cap, alert: Math.max(80, alert % 100) });
    if ((cap === 0 || wasPayable) && unspent < small) this.tellExceeded(full, this.startFor(full));
    this.events.push(`request.blocked ${nameOf(full)}`);
  }

  /** The owner is asked if all budgets without room do that. */
  private asks(budgets: OracleBudget[], ask: Ask, full: OracleBudget): Expected | undefined {
    const isBlocked = budgets.some((b) => b.onLimit !== 'ask' && ask.least > this.unspent(b));
    if (isBlocked || ask.waitsUntil <= this.now) return undefined;
    const known = this.questionOf(ask.id);
    if (known?.state === 'open' && known.budget === full) return { kind: 'ask' };
    this.questions = this.questions.filter(
      (q) => q.state === 'open' || q.expiresAt >= this.now - QUESTIONS_KEPT_MS,
    );
    const again = this.questionOf(ask.id);
    if (again) Object.assign(again, { state: 'open', budget: full });
    else {
      const [createdAt, expiresAt] = [this.now, ask.waitsUntil];
      this.questions.push({ ask, state: 'open', budget: full, allowed: null, createdAt, expiresAt });
    }
    this.events.push(`request.approval_requested ${nameOf(full)}`);
    return { kind: 'ask' };
  }

  private questionOf(id: number): Question | undefined {
    return this.questions.find(({ ask }) => ask.id === id);
  }

  stateOf(id: number): AskState | undefined {
    return this.questionOf(id)?.state;
  }

  /** What has become of a request that waits for an answer. */
  look(ask: Ask): Expected {
    const budgets = this.countersOf(ask.projectId, ask);
    const [first] = budgets;
    const question = this.questionOf(ask.id);
    if (!first) return this.hold(ask, ask.amount, []);
    const full = this.fullFor(budgets, ask.least);
    if (question?.state === 'denied') return this.block(ask, full ?? first);
    if (question?.state === 'approved' && question.allowed !== null)
      return this.holdApproved(ask, budgets, question.allowed);
    if (!full) return { kind: 'wait' };
    const asked = this.asks(budgets, ask, full);
    if (asked) return asked;
    this.endQuestion(ask.id, 'expired');
    return this.block(ask, full);
  }

  private holdApproved(ask: Ask, budgets: OracleBudget[], allowed: number): Expected {
    const room = this.roomWith(budgets, allowed);
    const cut = ask.cut && room >= ask.least ? Math.min(room, ask.amount) : undefined;
    const held = ask.amount <= room ? ask.amount : cut;
    if (held !== undefined) return this.hold(ask, held, budgets, allowed);
    const others = budgets.filter((b) => b.onLimit !== 'ask');
    const full = this.fullFor(others, ask.least);
    if (!full && ask.waitsUntil > this.now) return { kind: 'ask' };
    const leastRoom = Math.min(...budgets.map((b) => this.roomOf(b)));
    const tightest = full ?? budgets.find((b) => this.roomOf(b) === leastRoom);
    if (!tightest) throw new Error('no budget');
    return this.block(ask, tightest);
  }

  /** Never more than the owner has allowed, where a budget has less left. */
  private roomWith(budgets: OracleBudget[], allowed: number | undefined): number {
    return Math.min(
      ...budgets.map((b) =>
        b.onLimit === 'ask' && allowed !== undefined ? Math.max(allowed, this.roomOf(b)) : this.roomOf(b),
      ),
    );
  }

  endQuestion(id: number, state: AskState = 'ended'): void {
    const question = this.questionOf(id);
    if (question?.state === 'open') question.state = state;
  }

  /** Whether the owner may answer so. `raise`: by how much the budget is raised; null: for this once. */
  answer(question: Question, how: { deny: true } | { deny: false; raise: number | null }): boolean {
    const { budget, ask, state } = question;
    if (state !== 'open' || question.expiresAt <= this.now) return false;
    if (how.deny) {
      question.state = 'denied';
      return true;
    }
    if (!budget.live) return false;
    const left = budget.cap - this.postedNow(budget);
    if (left >= ask.least) return false;
    if (how.raise !== null && (budget.parent || how.raise <= 0 || left + how.raise < ask.least)) return false;
    this.touch(ask.projectId);
    if (how.raise !== null) this.touch(budget.projectId);
    if (budget.parent) this.roll(budget);
    question.state = 'approved';
    question.allowed = how.raise === null ? ask.needed : null;
    const { cap, alert, windowMs } = budget;
    if (how.raise !== null) this.changeBudget(budget, { cap: cap + how.raise, alert, windowMs });
    return true;
  }

  /** What is posted in the period that a budget would be in, were it touched. */
  private postedNow(budget: OracleBudget): number {
    if (budget.period === 'rolling') return this.posted(budget);
    const start = Math.max(budget.currentStart, this.spanStart(budget.period));
    return this.entries
      .filter((e) => e.budget === budget && e.start === start)
      .reduce((sum, entry) => sum + (entry.actual ?? 0), 0);
  }

  /** Whether a budget has too little left in its period; it is exceeded if it is too far spent to pay for a small request. */
  private blocks(budgets: OracleBudget[], needed: number, small: number): boolean {
    const full = this.fullFor(budgets, needed);
    if (full) this.tellBlocked(full, small);
    return full !== undefined;
  }

  /** Exchanges a hold for what was spent and the next worst case. */
  readmit(
    ask: Omit<Ask, 'projectId' | 'isFinal' | 'mayFall' | 'key' | 'session' | 'needed' | 'waitsUntil'> & {
      spent: number;
      only: boolean;
    },
  ): ExpectedAgain {
    const request = this.requests.find((r) => r.id === ask.id && r.open);
    if (!request) return { kind: 'resolved_before' };
    this.touch(request.projectId);
    for (const { budget, requestId } of this.entries)
      if (requestId === ask.id && budget.live) this.roll(budget);
    this.entries = this.entries.filter(({ requestId }) => requestId !== ask.id);
    request.repo = ask.repo;
    const budgets = this.countersOf(request.projectId, request);
    const room = Math.min(...budgets.map((b) => this.roomOf(b)));
    const left = this.roomWith(budgets, request.allowed) - ask.spent;
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
  settle(id: number, cost: number, repo: string, session?: string): boolean {
    const request = this.requests.find((r) => r.id === id && r.open);
    if (!request) return false;
    request.open = false;
    request.cost = cost;
    request.repo = repo;
    const own = this.entries.filter((entry) => entry.requestId === id);
    if (own.length > 0) this.touch(request.projectId);
    for (const entry of own) {
      const { budget } = entry;
      if (budget.live) this.roll(budget);
      entry.actual = cost;
      if (!budget.live || cost === 0) continue;
      if (budget.period === 'rolling') this.announce(budget, this.startFor(budget));
      else if (entry.start === budget.currentStart) this.announce(budget, entry.start);
    }
    if (own.length > 0)
      this.countersOf(request.projectId, { ...request, repo, session: session ?? request.session });
    return true;
  }

  /** False if the request holds nothing, or if there is such a job, or one of this request. */
  beginJob(id: string, requestId: number, expiresAt: number): boolean {
    const isOpen = this.requests.some((r) => r.id === requestId && r.open);
    if (!isOpen || this.jobs.some((job) => job.id === id || job.requestId === requestId)) return false;
    this.jobs.push({ id, requestId, createdAt: this.now, expiresAt });
    return true;
  }

  /** Ends a job. `percent`: what it cost, of what its request holds. False if it does not run. */
  endJob(id: string, percent: number): boolean {
    const job = this.jobs.find((each) => each.id === id);
    if (!job) return false;
    this.jobs = this.jobs.filter((each) => each !== job);
    const request = this.requests.find((r) => r.id === job.requestId && r.open);
    if (request) this.settle(request.id, Math.floor((request.amount * percent) / 100), request.repo, '');
    return true;
  }

  /** Books jobs whose time is over at what is held, in the order of their requests. */
  expireJobs(): number {
    const over = this.jobs.filter(({ expiresAt }) => expiresAt <= this.now);
    for (const { id } of over.sort((a, b) => a.requestId - b.requestId)) this.endJob(id, 100);
    return over.length;
  }

  /** The repository of a request becomes known: its record gets it, a hold does not. */
  find(id: number, repo: string): void {
    const closed = this.requests.filter((r) => !r.open);
    const record = [...closed, ...this.otherRecords].find((r) => r.id === id && r.repo === '');
    if (record) record.repo = repo;
  }

  setBudget(settings: OracleSettings): OracleBudget | undefined {
    const known = this.findOwn(settings) ?? this.members(settings).find((b) => isFor(b, settings.scope));
    if (!known) this.addBudget(settings);
    else if (settings.scope.kind !== 'each') this.changeBudget(known, { ...settings, parent: undefined });
    else this.changeEach(known, settings);
    return this.findOwn(settings);
  }

  private changeEach(each: OracleBudget, settings: OracleSettings): void {
    const { cap, alert, windowMs, onLimit } = settings;
    const isChanged =
      cap !== each.cap || alert !== each.alert || windowMs !== each.windowMs || onLimit !== each.onLimit;
    Object.assign(each, settings);
    this.touch(each.projectId);
    for (const member of isChanged ? this.budgets.filter((b) => b.live && b.parent === each) : [])
      this.changeBudget(member, { cap, alert, windowMs, onLimit }, true);
  }

  /** The members of the cap for each that a scope would be one of. */
  private members({ projectId, period, scope }: Pick<OracleSettings, 'projectId' | 'period' | 'scope'>) {
    const each = this.eachOf(projectId, period, scope.kind);
    return each ? this.budgets.filter((b) => b.live && b.parent === each) : [];
  }

  private eachOf(projectId: number, period: BudgetPeriod, kind: string): OracleBudget | undefined {
    return this.findOwn({ projectId, period, repo: '', scope: { kind: 'each', value: kind } });
  }

  private findOwn({
    projectId,
    period,
    repo,
    scope,
  }: Pick<OracleSettings, 'projectId' | 'period' | 'repo' | 'scope'>): OracleBudget | undefined {
    return this.liveOf(projectId).find(
      (b) => b.projectId === projectId && b.period === period && b.repo === repo && isFor(b, scope),
    );
  }

  private addBudget(settings: OracleSettings): void {
    const { projectId, period } = settings;
    const currentStart = period === 'rolling' ? this.now : this.spanStart(period);
    const budget = newBudget(settings, currentStart);
    this.budgets.push(budget);
    this.touch(projectId);
    const since = period === 'rolling' ? this.now - settings.windowMs : currentStart;
    if (settings.scope.kind !== 'each') {
      this.countPast(budget, since);
      return;
    }
    // Those that have requests in the period are members at once.
    for (const r of [...this.requests, ...this.otherRecords]) {
      if (projectsOf(projectId).includes(r.projectId) && r.at >= since) this.memberOf(budget, r);
    }
    for (const member of this.budgets.filter((b) => b.live && b.parent === budget))
      this.countPast(member, since);
  }

  /** Counts what was spent before a budget was set, and what is held. */
  private countPast(budget: OracleBudget, since: number): void {
    const counts = (r: { projectId: number } & Client) =>
      projectsOf(budget.projectId).includes(r.projectId) && countsClient(budget, r);
    const start = this.startFor(budget);
    const spent = [...this.requests.filter((r) => !r.open), ...this.otherRecords]
      .filter((r) => counts(r) && r.at >= since)
      .reduce((sum, r) => sum + r.cost, 0);
    if (spent > 0) this.entries.push({ budget, start, requestId: null, amount: spent, actual: spent });
    for (const r of this.requests) {
      if (r.open && counts(r) && r.at >= since) this.reserve(budget, r.id, r.amount);
    }
    this.announce(budget, start);
  }

  private changeBudget(
    budget: OracleBudget,
    settings: Pick<OracleBudget, 'cap' | 'alert' | 'windowMs'> & Partial<OracleBudget>,
    always = false,
  ): void {
    const { cap, version: old } = budget;
    const changed =
      always ||
      settings.cap !== cap ||
      settings.alert !== budget.alert ||
      settings.windowMs !== budget.windowMs;
    Object.assign(budget, settings);
    this.touch(budget.projectId);
    this.roll(budget);
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

  removeBudget(projectId: number, period: BudgetPeriod, repo: string, scope: OracleScope): boolean {
    const budget = this.findOwn({ projectId, period, repo, scope });
    if (!budget) return false;
    const each = this.eachOf(projectId, period, scope.kind);
    if (each) {
      const { cap, alert, windowMs, onLimit } = each;
      Object.assign(budget, { parent: each, cap, alert, windowMs, onLimit, version: budget.version + 1 });
      return true;
    }
    budget.live = false;
    for (const member of this.budgets) if (member.parent === budget) member.live = false;
    return true;
  }

  rollAll(): void {
    for (const projectId of new Set(this.budgets.filter((b) => b.live).map((b) => b.projectId)))
      this.touch(projectId);
  }

  closeHolds(slot: number): number {
    const isOwn = ({ id }: OracleRequest) => !this.jobs.some(({ requestId }) => requestId === id);
    const open = this.requests.filter((r) => r.open && r.slot === slot && isOwn(r));
    for (const question of this.questions) if (question.ask.slot === slot) this.endQuestion(question.ask.id);
    for (const r of open.sort((a, b) => a.id - b.id)) this.settle(r.id, r.amount, r.repo, '');
    return open.length;
  }

  liveOf(projectId: number): OracleBudget[] {
    const order = { daily: 0, monthly: 1, rolling: 2, lifetime: 3, weekly: 4 };
    return this.budgets
      .filter((b) => b.live && projectsOf(b.projectId).includes(homeOf(projectId)) && !b.parent)
      .sort(
        (a, b) =>
          order[a.period] - order[b.period] ||
          ascending(a.repo, b.repo) ||
          ascending(a.scope.kind, b.scope.kind) ||
          ascending(a.scope.value, b.scope.value) ||
          orderOf(a) - orderOf(b),
      );
  }

  posted(budget: OracleBudget): number {
    return this.counted(budget).reduce((sum, entry) => sum + (entry.actual ?? 0), 0);
  }

  pending(budget: OracleBudget): number {
    return this.entries
      .filter((e) => e.budget === budget && e.actual === null)
      .filter((e) => budget.period === 'rolling' || e.start === budget.currentStart)
      .reduce((sum, entry) => sum + entry.amount, 0);
  }

  /** The live budgets of a project, in the running period, without the members of caps for each. */
  touch(projectId: number): OracleBudget[] {
    const budgets = this.liveOf(projectId);
    for (const budget of budgets) this.roll(budget);
    return budgets;
  }

  /** What a budget has spent and holds; of a cap for each, the fullest member's figures. */
  standing(budget: OracleBudget): [posted: number, pending: number] {
    const members = this.budgets.filter((b) => b.live && b.parent === budget);
    const figures = (b: OracleBudget): [number, number] => {
      return b.period !== 'rolling' && b.currentStart < budget.currentStart
        ? [0, 0]
        : [this.posted(b), this.pending(b)];
    };
    return members
      .map(figures)
      .reduce((most, each) => (each[0] + each[1] > most[0] + most[1] ? each : most), figures(budget));
  }

  private roll(budget: OracleBudget): void {
    if (budget.period === 'rolling') return;
    const start = this.spanStart(budget.period);
    if (start <= budget.currentStart) return;
    let boundaries = 0;
    for (let at = budget.currentStart; at < start; boundaries++) at = this.span(budget.period, at).end;
    if (budget.scope.kind !== 'each') this.events.push(`budget.reset ${nameOf(budget)} +${boundaries - 1}`);
    budget.currentStart = start;
  }

  /** The budgets that count a request: a session or key has one of its own, or one that a cap for each gives it. */
  private countersOf(projectId: number, client: Client): OracleBudget[] {
    const live = this.touch(projectId);
    const own = live.filter((b) => b.scope.kind !== 'each' && countsClient(b, client));
    const members = live
      .filter((b) => b.scope.kind === 'each')
      .filter((each) => {
        const { projectId, period, scope } = each;
        return !own.some(
          (b) => b.scope.kind === scope.value && b.period === period && b.projectId === projectId,
        );
      })
      .map((each) => this.memberOf(each, client));
    return [...own, ...members.filter((b) => b !== undefined)];
  }

  private memberOf(each: OracleBudget, client: Client): OracleBudget | undefined {
    const kind = each.scope.value as 'key' | 'session';
    const value = String(client[kind]);
    if (value === '') return undefined;
    const known = this.budgets.find((b) => b.live && b.parent === each && b.scope.value === value);
    const { projectId, period } = each;
    if (!known && this.findOwn({ projectId, period, repo: '', scope: { kind, value } })) return undefined;
    if (known) this.roll(known);
    if (known) return known;
    const { windowMs, cap, alert, onLimit } = each;
    const settings = { projectId, period, windowMs, repo: '', scope: { kind, value }, cap, alert, onLimit };
    const member = newBudget(settings, period === 'rolling' ? this.now : each.currentStart);
    member.parent = each;
    this.budgets.push(member);
    return member;
  }

  private counted(budget: OracleBudget): Entry[] {
    const own = this.entries.filter((e) => e.budget === budget);
    if (budget.period !== 'rolling') return own.filter((e) => e.start === budget.currentStart);
    return own.filter((e) => e.start + MINUTE_MS > this.now - budget.windowMs);
  }

  private reserve(budget: OracleBudget, requestId: number, amount: number): void {
    const start = this.startFor(budget);
    this.entries.push({ budget, start, requestId, amount, actual: null });
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

function newBudget(settings: OracleSettings, currentStart: number): OracleBudget {
  return {
    ...settings,
    parent: undefined,
    version: 1,
    currentStart,
    live: true,
    thresholdMarks: [],
    exceededMarks: [],
    early: new Map(),
    earlyStart: undefined,
  };
}

/** Of budgets for the same: a project's own, that of all, that of some. */
const orderOf = ({ projectId }: OracleBudget): number => [ALL, SHARED].indexOf(projectId);

const ascending = (a: string, b: string) => (a < b ? -1 : Number(a > b));

const isFor = ({ scope }: OracleBudget, { kind, value }: OracleScope) =>
  scope.kind === kind && scope.value === value;

function countsClient({ repo, scope }: OracleBudget, client: Client): boolean {
  if (repo !== '' && repo !== client.repo) return false;
  return scope.kind === '' || (scope.kind !== 'each' && String(client[scope.kind]) === scope.value);
}

export function nameOf({ projectId, period, repo, scope }: OracleBudget): string {
  const of = repo || (scope.kind === '' ? '' : `${scope.kind}:${scope.value}`);
  const name =
    projectId === ALL
      ? '@all'
      : projectsOf(projectId)
          .map((id) => `p${id}`)
          .join(',');
  return `${name}/${period}${of === '' ? '' : `@${of}`}`;
}

/** The least whole amount that is at least `alert` percent of the cap. */
export function thresholdOf({ cap, alert }: Pick<OracleBudget, 'cap' | 'alert'>): number {
  return Number((BigInt(cap) * BigInt(alert) + 99n) / 100n);
}
