import type { Calendar } from '../../calendar.ts';
import type { Db } from '../database/open.ts';
import { Account, type AccountContext } from './account.ts';
import { createBalanceRows } from './balance-rows.ts';
import type { EmitEvent } from './events.ts';
import type { BudgetTerms } from './terms.ts';
import { createWindowRows } from './window-rows.ts';

/** The accounts that batches touch, read under the write lock and reused until another writer has committed. */
export interface AccountCache {
  /** Starts a batch at a time. */
  begin(now: number): void;
  /** The budgets of a project that are not removed, in the running period. */
  ofProject(projectId: number): Account[];
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
}

interface ProjectAccounts {
  accounts: Account[];
  /** The last batch that they entered. */
  batch: number;
}

const MAX_CACHED = 1_000;

export function createAccountCache({ db, calendar, emit }: AccountCacheOptions): AccountCache {
  const rows = createBalanceRows(db);
  const changed = new Set<Account>();
  const context: AccountContext = { rows, windowRows: createWindowRows(db), calendar, emit, now: 0, changed };
  const byProject = new Map<number, ProjectAccounts>();
  const byId = new Map<number, Account>();
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

  function open(budget: BudgetTerms): Account {
    const account = new Account(context, budget);
    byId.set(budget.id, account);
    return account;
  }

  function forget(): void {
    byProject.clear();
    byId.clear();
    changed.clear();
  }

  return {
    begin(now) {
      context.now = now;
      batch++;
    },
    ofProject,
    cachedOf: (projectId) => byProject.get(projectId)?.accounts,
    find(projectId, budgetId) {
      ofProject(projectId);
      const account = byId.get(budgetId);
      if (account) return account;
      const removed = rows.termsById(budgetId);
      return removed && open(removed);
    },
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
