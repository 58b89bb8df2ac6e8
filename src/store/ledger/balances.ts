import type { NanoUsd } from '../../money.ts';
import type { Account, Charge, EarlierCap } from './account.ts';
import { type AccountCache, type AccountCacheOptions, createAccountCache } from './account-cache.ts';
import { type RequestHead, repoOf } from './journal.ts';
import type { Standing } from './standing.ts';
import { type CountedRequest, countsRequest, memberValue } from './terms.ts';

/**
 * The money of all budgets: reserve, post, release. Commands change it in memory, in order, and `write` stores it once
 * a batch, in the transaction that began with `begin`.
 */
export interface Balances extends Pick<AccountCache, 'begin' | 'rollAll' | 'write' | 'forget'> {
  /** The budgets of a project as they stand in the running period. */
  standings(projectId: number): Standing[];
  /** One budget of a project, as it stands. */
  standingOf(projectId: number, budgetId: number): Standing | undefined;
  /** The budgets that count a request, as they stood after the last batch; undefined if that isn't cached. */
  cachedStandings(request: Counted): Standing[] | undefined;
  /** The budgets that count a request. Where its repository isn't known, those of repositories don't. */
  standingsFor(request: Counted): Standing[];
  /** Reserves an amount in each budget that counts the request; returns the charges to `post` later. */
  reserve(request: Counted, amount: NanoUsd): Charge[];
  /**
   * Turns a reservation into spend; an actual cost of 0 releases it. The spend counts in the period of the reservation.
   * Events are emitted for the running period of budgets that are not removed.
   */
  post(projectId: number, charges: Charge[], reserved: NanoUsd, actual: NanoUsd): void;
  /** Emits that a budget is exceeded: a request was blocked for lack of room in it. */
  exceed(projectId: number, budgetId: number): void;
  /**
   * Books what was spent before a budget was set, so that a cap set at noon counts the morning, and what running
   * requests hold: `charge` adds the budget's charge to their holds and returns what they hold in all.
   */
  seed(projectId: number, budgetId: number, spent: NanoUsd, charge: (charge: Charge) => NanoUsd): void;
  /** Emits the events that a new or changed budget has reached, except those of its earlier cap that still hold. */
  announce(projectId: number, budgetId: number, earlier?: EarlierCap): void;
}

/** What decides which budgets count a request. */
type Counted = Pick<RequestHead, 'projectId' | 'keyId' | 'origin' | 'agent' | 'session'>;

export interface BalancesOptions extends AccountCacheOptions {
  /** A request has cost this much of a team budget. */
  onTeamSpend?: ((budgetId: number, cost: NanoUsd) => void) | undefined;
}

export function createBalances(options: BalancesOptions): Balances {
  const { onTeamSpend = () => {} } = options;
  const { ofProject, cachedOf, member, cachedMember, standingOfEach, find, ...cache } =
    createAccountCache(options);

  const accountsFor = (request: Counted) => counting(ofProject(request.projectId), request, member);

  /** The accounts that count a request; `memberOf` finds the members of caps for each. */
  function counting<Found extends Account | undefined>(
    accounts: Account[],
    request: Counted,
    memberOf: (each: Account, value: string) => Found,
  ): (Account | Found)[] {
    const { keyId, agent, session } = request;
    const counted: CountedRequest = { keyId, repo: repoOf(request), agent, session };
    if (accounts.every(({ budget }) => countsRequest(budget, counted))) return accounts;
    const found: (Account | Found)[] = accounts.filter(({ budget }) => countsRequest(budget, counted));
    const own = found.length;
    for (const each of accounts) {
      const { scopeKind, scopeValue: kind, period } = each.budget;
      const value = scopeKind === 'each' ? memberValue(kind, counted) : '';
      // A cap of its own takes the place of the cap for each.
      const hasOwn = found.slice(0, own).some((account) => {
        return account?.budget.scopeKind === kind && account.budget.period === period;
      });
      if (value !== '' && !hasOwn) found.push(memberOf(each, value));
    }
    return found;
  }

  return {
    ...cache,
    standings: (projectId) =>
      ofProject(projectId).map((account) =>
        account.budget.scopeKind === 'each' ? standingOfEach(account) : account.standing(),
      ),
    standingOf: (projectId, budgetId) => find(projectId, budgetId)?.standing(),
    standingsFor: (request) => accountsFor(request).map((account) => account.standing()),
    cachedStandings(request) {
      const accounts = cachedOf(request.projectId);
      const standings: Standing[] = [];
      for (const account of accounts ? counting(accounts, request, cachedMember) : []) {
        if (!account) return undefined;
        standings.push(account.standing());
      }
      return accounts && standings;
    },
    reserve: (request, amount) => accountsFor(request).map((account) => account.reserve(amount)),
    post(projectId, charges, reserved, actual) {
      for (const [budgetId, start] of charges) {
        const account = find(projectId, budgetId);
        if (!account) continue;
        account.post(start, reserved, actual);
        if (actual > 0 && account.budget.teamBudgetId !== null) onTeamSpend(budgetId, actual);
        if (actual > 0 && account.isRunning(start) && account.budget.removed === 0) account.emitReached();
      }
    },
    exceed: (projectId, budgetId) => find(projectId, budgetId)?.emitExceeded(),
    seed: (projectId, budgetId, spent, charge) => find(projectId, budgetId)?.seed(spent, charge),
    announce(projectId, budgetId, earlier) {
      const account = find(projectId, budgetId);
      if (earlier) account?.keepMarks(earlier);
      account?.emitReached();
    },
  };
}
