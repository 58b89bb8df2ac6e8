import type { Calendar } from '../../calendar.ts';
import type { Db } from '../database/open.ts';
import { Account, type AccountContext } from './account.ts';
import { createBalanceRows } from './balance-rows.ts';
import type { EmitEvent } from './events.ts';
import type { Standing } from './standing.ts';
import { createTeamTerms } from './team-terms.ts';
import type { BudgetTerms } from './terms.ts';
import { createWindowRows } from './window-rows.ts';

/** The accounts that batches touch, read under the write lock and reused until another writer has committed. */
export interface AccountCache {
  /** Starts a batch at a time. */
  begin(now: number): void;
  /** The budgets of a project that are not removed, in the running period, without the members of caps for each. */
  ofProject(projectId: number): Account[];
  /** The member of a cap for each, in the running period. It is added if there is none. */
  member(each: Account, value: string): Account;
  /** As `member`, after the last batch that touched it; undefined if it isn't cached. */
  cachedMember(each: Account, value: string): Account | undefined;
  /** How a cap for each stands: as its fullest member. */
  standingOfEach(each: Account): Standing;
  /** As `ofProject`, after the last batch that touched them; undefined if they aren't cached. */
  cachedOf(projectId: number): Account[] | undefined;
  /** One budget of a project, removed or not. */
  find(projectId: number, budgetId: number): Account | undefined;
  /** Rolls every budget into the running period. */
  rollAll(): void;
  /** Writes what the batch has changed. */
  write(): void;
  /** Drops what was read: another writer has committed, or the batch has failed. */
  forget(): void;
}

export interface AccountCacheOptions {
  db: Db;
  calendar: () => Calendar;
  emit: EmitEvent;
  /** The team's clock, where this process has one. */
  teamNow?: (() => number) | undefined;
}

interface ProjectAccounts {
  accounts: Account[];
  /** The last batch that they entered. */
  batch: number;
}

const memberKey = (parentId: number, value: string) => `${parentId} ${value}`;

const MAX_CACHED = 1_000;

export function createAccountCache({ db, calendar, emit, teamNow }: AccountCacheOptions): AccountCache {
  const rows = createBalanceRows(db);
  const changed = new Set<Account>();
  const terms = { calendar, team: createTeamTerms(db, teamNow) };
  const context: AccountContext = { rows, windowRows: createWindowRows(db), ...terms, emit, now: 0, changed };
  const byProject = new Map<number, ProjectAccounts>();
  const byId = new Map<number, Account>();
  const members = new Map<string, { account: Account; batch: number }>();
  let batch = 0;

  function ofProject(projectId: number): Account[] {
    let project = byProject.get(projectId);
    if (!project) {
      project = { accounts: rows.termsOf(projectId).map(open), batch: 0 };
      byProject.set(projectId, project);
    }
    if (project.batch !== batch) {
      project.batch = batch;
      for (const account of project.accounts) account.enterBatch();
    }
    return project.accounts;
  }

  /** A team budget is one account, whichever project asks. */
  function open(budget: BudgetTerms): Account {
    const known = budget.teamBudgetId === null ? undefined : byId.get(budget.id);
    const account = known ?? new Account(context, budget);
    byId.set(budget.id, account);
    return account;
  }

  function openMember(budget: BudgetTerms): Account {
    const account = open(budget);
    account.enterBatch();
    members.set(memberKey(budget.parentId, budget.scopeValue), { account, batch });
    return account;
  }

  function member({ budget }: Account, value: string): Account {
    const cached = members.get(memberKey(budget.id, value));
    if (!cached) return openMember(rows.member(budget, value, context.now));
    if (cached.batch !== batch) {
      cached.batch = batch;
      cached.account.enterBatch();
    }
    return cached.account;
  }

  /** Members that the batch has changed are not written yet. */
  function standingOfEach(each: Account): Standing {
    const { id, projectId, period, currentStart } = each.budget;
    const stored = rows.fullest(each.budget, period === 'rolling' ? each.windowFrom() : currentStart);
    const found = stored === undefined ? undefined : find(projectId, stored);
    const unwritten = [...changed].filter(({ budget }) => budget.parentId === id);
    return fullestOf(each, found ? [...unwritten, found] : unwritten);
  }

  function find(projectId: number, budgetId: number): Account | undefined {
    ofProject(projectId);
    const account = byId.get(budgetId);
    if (account && account.budget.parentId === 0) return account;
    const budget = account ? account.budget : rows.termsById(budgetId);
    if (!budget) return undefined;
    const parent = budget.removed === 0 ? byId.get(budget.parentId) : undefined;
    return parent ? member(parent, budget.scopeValue) : (account ?? open(budget));
  }

  function forget(): void {
    for (const cached of [byProject, byId, members, changed]) cached.clear();
    terms.team.forget();
  }

  return {
    begin(now) {
      context.now = now;
      batch++;
    },
    ofProject,
    cachedOf: (projectId) => byProject.get(projectId)?.accounts,
    member,
    cachedMember: ({ budget }, value) => members.get(memberKey(budget.id, value))?.account,
    standingOfEach,
    find,
    rollAll() {
      for (const projectId of rows.projects()) ofProject(projectId);
    },
    write() {
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
