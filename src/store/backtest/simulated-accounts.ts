import type { Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import { Account } from '../ledger/account.ts';
import type { BalanceRow } from '../ledger/balance-rows.ts';
import type { EmitEvent } from '../ledger/events.ts';
import {
  type BudgetPeriod,
  type BudgetTerms,
  countsRequest,
  type EachKind,
  isOfTarget,
  type ScopeKind,
  spanOf,
} from '../ledger/terms.ts';
import { isByTarget, memberAt, type PastRequest, type Served } from './past-requests.ts';

export interface SimulatedTerms {
  projectId: number;
  capNanoUsd: number;
  period: Exclude<BudgetPeriod, 'rolling'>;
  /** When the budget is set. UTC milliseconds. */
  since: number;
  /** What it is for: it counts all requests of the replay that are served by that, or has a member for each. */
  scope?: { kind: ScopeKind; value: string } | undefined;
  cheaper?: CheaperModels | undefined;
}

/** Models that requests go to on the limit. */
export interface CheaperModels {
  /** In order. */
  targets: readonly Served[];
  /** The share of the cap from which on requests go there. */
  fromPercent: number;
  /** What a request would need and cost at a target; undefined if it can't go there. */
  priceAt: (request: PastRequest, target: Served) => Priced | undefined;
}

export type Priced = Pick<PastRequest, 'needNanoUsd' | 'costNanoUsd'>;

export const DEFAULT_ALERT_PERCENT = 80;

/** The accounts of a budget that exists in memory alone: one, or one for each of its members. */
export function createAccounts(
  terms: SimulatedTerms,
  { calendar, emit }: { calendar: Calendar; emit: EmitEvent },
) {
  const each = terms.scope?.kind === 'each' ? (terms.scope.value as EachKind) : undefined;
  /** By the id of the account, then by the start of the period. */
  const balances: Map<number, BalanceRow>[] = [];
  const context = {
    rows: {
      read: (id: number, start: number) => balanceAt(balancesOf(id), start),
      write: () => undefined,
      advance: () => undefined,
      advanceTeam: unused,
      fall: () => undefined,
      endRaises: unused,
      listenersOf: unused,
    },
    windowRows: { sum: unused, write: unused, highestAlert: unused, isMarked: unused },
    team: { period: unused, figures: unused },
    calendar: () => calendar,
    emit,
    now: terms.since,
    batch: 0,
    changed: new Set<Account>(),
  };
  /** By member; that of '' is the budget itself, or has the period of all members. */
  const accounts = new Map<string, Account>();
  const byId: Account[] = [];

  function balancesOf(id: number): Map<number, BalanceRow> {
    const known = balances[id] ?? new Map<number, BalanceRow>();
    balances[id] = known;
    return known;
  }

  function of(member: string): Account {
    let account = accounts.get(member);
    if (!account) {
      account = new Account(context, termsOf(terms, { calendar, id: byId.length }));
      accounts.set(member, account);
      byId.push(account);
    }
    account.enterBatch();
    return account;
  }

  return {
    now: () => context.now,
    /** Enters a time, not before the last one, and returns the start of the running period. */
    enter(timeMs: number): number {
      context.now = timeMs;
      context.batch++;
      context.changed.clear();
      return of('').budget.currentStart;
    },
    byId: (id: number) => byId[id],
    /** The account that counts a request at a target; undefined: none. */
    at({ member }: PastRequest, target: Served | undefined): Account | undefined {
      if (each) return of(target && isByTarget(each) ? memberAt(each, target) : member);
      const account = of('');
      const isCounted = !target || countsRequest(account.budget, { keyId: 0, repo: '', ...target });
      return isCounted ? account : undefined;
    },
    /** Spend in the period that starts at `start`. */
    spentIn: (start: number): NanoUsd =>
      balances.reduce((sum, periods) => sum + (periods.get(start)?.posted ?? 0), 0),
    /** Spend of a member in all periods. */
    spentBy(member: string): NanoUsd {
      const periods = [...(balances[accounts.get(member)?.budget.id ?? -1]?.values() ?? [])];
      return periods.reduce((sum, { posted }) => sum + posted, 0);
    },
  };
}

function termsOf(
  { projectId, capNanoUsd, period, since, scope, cheaper }: SimulatedTerms,
  { calendar, id }: { calendar: Calendar; id: number },
): BudgetTerms {
  return {
    id,
    projectId,
    projectName: '',
    period,
    windowMs: null,
    capNanoUsd,
    alertPercent: DEFAULT_ALERT_PERCENT,
    alertPercents: '',
    capVersion: 1,
    projects: '',
    runaway: 'alert',
    raisedNanoUsd: 0,
    raisedUntil: null,
    currentStart: period === 'lifetime' ? since : spanOf(period, since, calendar).start,
    repo: '',
    // What the replay is of has the scope already, but for its models.
    scopeKind: scope && isOfTarget({ scopeKind: scope.kind }) ? scope.kind : '',
    scopeValue: scope?.value ?? '',
    keyId: 0,
    parentId: 0,
    teamBudgetId: null,
    onLimit: cheaper ? 'fallback' : 'block',
    fallback: '',
    fallbackPercent: cheaper?.fromPercent ?? 100,
    fallbackVersion: 0,
    fallbackStart: 0,
    removed: 0,
  };
}

function balanceAt(balances: Map<number, BalanceRow>, start: number): BalanceRow {
  let row = balances.get(start);
  if (!row) {
    row = { start, posted: 0, pending: 0, thresholdVersion: 0, exceededVersion: 0, thresholdPercent: 0 };
    balances.set(start, row);
  }
  return row;
}

export function unused(): never {
  throw new Error('a simulated budget has no window, no team and no raises');
}
