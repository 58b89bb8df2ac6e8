import type { Calendar } from '../../calendar.ts';
import { labelName } from '../../labels.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { Account, type AccountContext, type Charge, type EarlierCap } from './account.ts';
import { createBalanceRows, createWindowRows } from './balance-rows.ts';
import type { EmitEvent } from './events.ts';
import { type RequestHead, repoOf } from './journal.ts';
import type { LabelSets } from './label-sets.ts';
import type { Standing } from './standing.ts';
import { createTeamTerms } from './team-terms.ts';
import { type BudgetTerms, type CountedRequest, countsRequest, isOfTarget, memberValue } from './terms.ts';
/**
 * The money of all budgets: reserve, post, release. Commands change it in memory, in order, and `write` stores it once
 * a batch, in the transaction that began with `begin`.
 */
export type Balances = ReturnType<typeof createBalances>;

/** Fields that decide which budgets count a request. */
type Counted = Pick<
  RequestHead,
  'projectId' | 'keyId' | 'origin' | 'agent' | 'session' | 'provider' | 'model' | 'labels'
>;

interface BalancesOptions extends AccountCacheOptions {
  /** The values that labels are counted under; default: their own. */
  labelSets?: Pick<LabelSets, 'valueOf'> | undefined;
  /** A request has cost this much of a team budget. */
  onTeamSpend?: ((budgetId: number, cost: NanoUsd) => void) | undefined;
}

export function createBalances(options: BalancesOptions) {
  const { onTeamSpend = () => {}, labelSets } = options;
  const { ofProject, cachedOf, member, cachedMember, standingOfEach, find, ...cache } =
    createAccountCache(options);

  const accountsFor = (request: Counted) =>
    counting(ofProject(request.projectId), request, (each, value) =>
      member(each, countedAs(each, request, value)),
    );

  /** Values of a label beyond so many share a member. */
  function countedAs({ budget }: Account, { projectId, labels }: Counted, value: string): string {
    const name = labelName(budget.scopeValue);
    return name === undefined || !labelSets ? value : labelSets.valueOf(projectId, labels, name);
  }

  return {
    ...cache,
    /** The budgets of a project as they stand in the running period. */
    standings: (projectId: number): Standing[] =>
      ofProject(projectId).map((account) =>
        account.budget.scopeKind === 'each' ? standingOfEach(account) : account.standing(),
      ),
    /** One budget of a project, as it stands. */
    standingOf: (projectId: number, budgetId: number): Standing | undefined =>
      find(projectId, budgetId)?.standing(),
    /** The budgets that count a request. Where its repository isn't known, those of repositories don't. */
    standingsFor: (request: Counted): Standing[] => accountsFor(request).map((account) => account.standing()),
    /** The budgets that count a request, as they stood after the last batch; undefined if that isn't cached. */
    cachedStandings(request: Counted): Standing[] | undefined {
      const accounts = cachedOf(request.projectId);
      const standings: Standing[] = [];
      for (const account of accounts ? counting(accounts, request, cachedMember) : []) {
        if (!account) return undefined;
        standings.push(account.standing());
      }
      return accounts && standings;
    },
    /**
     * Reserves an amount in each budget that counts the request; returns the charges to `post` later. `before` is the
     * part of the amount that a budget doesn't count.
     */
    reserve: (request: Counted, amount: NanoUsd, before?: (budgetId: number) => NanoUsd): Charge[] =>
      accountsFor(request).map((account) => {
        const part = before?.(account.budget.id) ?? 0;
        const [id, start] = account.reserve(amount - part);
        return part === 0 ? [id, start] : [id, start, part];
      }),
    /**
     * Turns a reservation into spend; an actual cost of 0 releases it. The spend counts in the period of the reservation.
     * Events are emitted for the running period of budgets that are not removed.
     */
    post(projectId: number, charges: Charge[], reserved: NanoUsd, actual: NanoUsd): void {
      for (const [budgetId, start, before = 0] of charges) {
        const account = find(projectId, budgetId);
        if (!account) continue;
        const cost = Math.max(0, actual - before);
        account.post(start, reserved - before, cost);
        if (cost > 0 && account.budget.teamBudgetId !== null) onTeamSpend(budgetId, cost);
        if (cost > 0 && account.isRunning(start) && account.budget.removed === 0) account.emitReached();
      }
    },
    /** Books what a request cost at a target, in the budgets of that target, where it goes on at another. */
    leave(projectId: number, charges: Charge[], spent: NanoUsd): void {
      for (const [budgetId, start, before = 0] of charges) {
        const account = find(projectId, budgetId);
        if (!account || !isOfTarget(account.budget) || spent <= before) continue;
        account.post(start, 0, spent - before);
        if (account.isRunning(start) && account.budget.removed === 0) account.emitReached();
      }
    },
    /** Emits that a budget sends requests to its cheaper models. */
    fallBack: (projectId: number, budgetId: number): void => find(projectId, budgetId)?.emitFallback(),
    /** Emits that a budget is exceeded: a request was blocked for lack of room in it. */
    exceed: (projectId: number, budgetId: number): void => find(projectId, budgetId)?.emitExceeded(),
    /**
     * Books what was spent before a budget was set, so that a cap set at noon counts the morning, and what running
     * requests hold: `charge` adds the budget's charge to their holds and returns what they hold in all.
     */
    seed: (projectId: number, budgetId: number, spent: NanoUsd, charge: (charge: Charge) => NanoUsd): void =>
      find(projectId, budgetId)?.seed(spent, charge),
    /** Emits the events that a new or changed budget has reached, except those of its earlier cap that still hold. */
    announce(projectId: number, budgetId: number, earlier?: EarlierCap): void {
      const account = find(projectId, budgetId);
      if (earlier) account?.keepMarks(earlier);
      account?.emitReached();
    },
  };
}

/** The accounts that count a request; `memberOf` finds the members of caps for each. */
function counting<Found extends Account | undefined>(
  accounts: Account[],
  request: Counted,
  memberOf: (each: Account, value: string) => Found,
): (Account | Found)[] {
  const { keyId, agent, session, provider, model, labels } = request;
  const counted: CountedRequest = { keyId, repo: repoOf(request), agent, session, provider, model, labels };
  if (accounts.every(({ budget }) => countsRequest(budget, counted))) return accounts;
  const found: (Account | Found)[] = accounts.filter(({ budget }) => countsRequest(budget, counted));
  const own = found.length;
  for (const each of accounts) {
    const { scopeKind, scopeValue: kind, period, projects } = each.budget;
    const value = scopeKind === 'each' ? memberValue(kind, counted) : '';
    // A cap of its own takes the place of the cap for each.
    const hasOwn = found.slice(0, own).some((account) => {
      const own = account?.budget;
      return own?.scopeKind === kind && own.period === period && own.projects === projects;
    });
    if (value !== '' && !hasOwn) found.push(memberOf(each, value));
  }
  return found;
}

interface AccountCacheOptions {
  db: Db;
  calendar: () => Calendar;
  emit: EmitEvent;
  /** The team's clock, where this process has one. */
  teamNow?: (() => number) | undefined;
}

const memberKey = (parentId: number, value: string) => `${parentId} ${value}`;

const MAX_CACHED = 1_000;

/** The accounts that batches touch, read under the write lock and reused until another writer has committed. */
function createAccountCache({ db, calendar, emit, teamNow }: AccountCacheOptions) {
  const rows = createBalanceRows(db);
  const changed = new Set<Account>();
  const terms = { calendar, team: createTeamTerms(db, teamNow) };
  const windowRows = createWindowRows(db);
  const context: AccountContext = { rows, windowRows, ...terms, emit, now: 0, batch: 0, changed };
  const byProject = new Map<number, Account[]>();
  const byId = new Map<number, Account>();
  const members = new Map<string, Account>();

  /** The budgets of a project that are not removed, in the running period, without the members of caps for each. */
  function ofProject(projectId: number): Account[] {
    let accounts = byProject.get(projectId);
    if (!accounts) {
      accounts = rows.termsOf(projectId).map(open);
      byProject.set(projectId, accounts);
    }
    for (const account of accounts) account.enterBatch();
    return accounts;
  }

  /** A budget of several projects is one account, whichever asks. */
  function open(budget: BudgetTerms): Account {
    const isShared = budget.teamBudgetId !== null || budget.projects !== '';
    const known = isShared ? byId.get(budget.id) : undefined;
    const account = known ?? new Account(context, budget);
    byId.set(budget.id, account);
    return account;
  }

  /** The member of a cap for each, in the running period. It is added if there is none. */
  function member({ budget }: Account, value: string): Account {
    const name = memberKey(budget.id, value);
    const account = members.get(name) ?? open(rows.member(budget, value, context.now));
    members.set(name, account);
    account.enterBatch();
    return account;
  }

  /** Standing of a per-member cap: that of its fullest member. Members that the batch has changed are not written yet. */
  function standingOfEach(each: Account): Standing {
    const { id, projectId, period, currentStart } = each.budget;
    const stored = rows.fullest(each.budget, period === 'rolling' ? each.windowFrom() : currentStart);
    const found = stored === undefined ? undefined : find(projectId, stored);
    const unwritten = [...changed].filter(({ budget }) => budget.parentId === id);
    return fullestOf(each, found ? [...unwritten, found] : unwritten);
  }

  /** One budget of a project, removed or not. */
  function find(projectId: number, budgetId: number): Account | undefined {
    ofProject(projectId);
    const account = byId.get(budgetId);
    if (account && account.budget.parentId === 0) return account;
    const budget = account ? account.budget : rows.termsById(budgetId);
    if (!budget) return undefined;
    const parent = budget.removed === 0 ? byId.get(budget.parentId) : undefined;
    return parent ? member(parent, budget.scopeValue) : (account ?? open(budget));
  }

  /** Drops what was read: another writer has committed, or the batch has failed. */
  function forget(): void {
    for (const cached of [byProject, byId, members, changed]) cached.clear();
    terms.team.forget();
  }

  return {
    begin(now: number): void {
      context.now = now;
      context.batch++;
    },
    ofProject,
    /** As `ofProject`, after the last batch that touched them; undefined if they aren't cached. */
    cachedOf: (projectId: number): Account[] | undefined => byProject.get(projectId),
    member,
    /** As `member`, after the last batch that touched it; undefined if it isn't cached. */
    cachedMember: ({ budget }: Account, value: string) => members.get(memberKey(budget.id, value)),
    standingOfEach,
    find,
    rollAll(): void {
      for (const projectId of rows.projects()) ofProject(projectId);
    },
    write(): void {
      for (const account of changed) account.write();
      changed.clear();
      if (byId.size > MAX_CACHED) forget();
    },
    forget,
  };
}

function fullestOf(each: Account, members: Account[]): Standing {
  const filled = ({ posted, pending }: Standing) => posted + pending;
  return members.reduce((fullest, member) => {
    const standing = member.standing();
    if (filled(standing) <= filled(fullest)) return fullest;
    return { ...standing, budget: each.budget, fullest: member.budget.scopeValue };
  }, each.standing());
}
