import type { Clock } from '../clock.ts';
import type { Db } from '../store/database/open.ts';
import { SELECT_TERMS } from '../store/ledger/balance-rows.ts';
import { createTeamTerms } from '../store/ledger/team-terms.ts';
import type { BudgetTerms } from '../store/ledger/terms.ts';
import { createTeamLimits, type LimitedAccount } from '../store/team/limits.ts';
import { accountUpdates, messageRows } from './accounts.ts';
import type { Demands } from './demands.ts';
import type { Demand } from './policy.ts';
import type { Standing, SyncAnswer, SyncRow } from './protocol.ts';
import type { TeamClock } from './team-clock.ts';

export interface SyncBooksOptions {
  db: Db;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  teamClock: TeamClock;
  demands: Demands;
}

/** Composes messages from the local limits and applies answers to them. Call within a ledger transaction. */
export function createSyncBooks({ db, clock, teamClock, demands }: SyncBooksOptions) {
  const limits = createTeamLimits(db);
  const terms = createTeamTerms(db, () => teamClock.now());
  const selectLive = db.prepare<[], BudgetTerms>(`${SELECT_TERMS} WHERE b.team_budget_id IS NOT NULL
    AND b.removed_at IS NULL`);
  /** By the team's budget id. */
  const standings = new Map<number, Standing>();
  let localIds = new Map<number, number>();
  let isNeedMet = true;

  function liveBudgets(): LiveBudget[] {
    terms.forget();
    const now = clock.now();
    const live: LiveBudget[] = [];
    localIds = new Map();
    for (const budget of selectLive.all()) {
      const { id, teamBudgetId } = budget;
      if (teamBudgetId === null) continue;
      localIds.set(teamBudgetId, id);
      const { start, end: ends } = terms.period(budget, now);
      live.push({
        id: teamBudgetId,
        start,
        ends,
        demand: demands.demandOf(id),
        need: demands.takeNeed(id),
        refused: demands.takeRefusal(id),
      });
    }
    return live;
  }

  return {
    /** Composes a message: lowers the local limits to the declared ones and returns the rows. */
    compose({ isLeaving }: { isLeaving: boolean }): SyncRow[] {
      const rows = composeMessage({
        accounts: limits.accounts(),
        budgets: liveBudgets(),
        standings,
        teamNow: teamClock.now(),
        nowMs: clock.monotonic(),
        isLeaving,
      });
      limits.set(rows.map(({ b, p, d }) => ({ budgetId: b, start: p, limit: d })));
      return rows;
    },
    apply(rows: readonly SyncRow[], answer: SyncAnswer): void {
      limits.set(accountUpdates(rows, answer));
      isNeedMet = true;
      for (const row of answer.rows) {
        const sent = rows.find(({ b, p }) => b === row.b && p === row.p);
        if (sent && row.l - sent.d < sent.n) isNeedMet = false;
        // A slice of the next period, or the remainder of a past one.
        if (row.p !== row.running || row.running > answer.now || !sent) continue;
        standings.set(row.b, row);
        const local = localIds.get(row.b);
        if (local !== undefined) demands.setTight(local, row.tight);
        const { b: budgetId, p: start, o: reserve } = row;
        limits.setStanding({ ...row, budgetId, start, reserve, posted: sent.s }, clock.now());
      }
    },
    forgetHeard: limits.forgetHeard,
    voidAll: limits.voidAll,
    /** Whether the last answer granted all that waiting requests need. */
    wasNeedMet: (): boolean => isNeedMet,
    /** Whether the authority's figures are up to date, and nothing is held or left to return here. */
    isSettled: (): boolean =>
      limits
        .accounts()
        .every(
          ({ limit, posted, pending, heard }) =>
            limit <= posted && pending === 0 && heard?.limit === limit && heard.posted === posted,
        ),
  };
}

/** An active team budget. */
interface LiveBudget {
  /** The team's id. */
  id: number;
  /** Start and end of the current period by the team's clock, UTC ms. */
  start: number;
  ends: number;
  demand: Demand;
  /** Amount that a waiting request needs; 0 if none waits. */
  need: number;
  /** Amount that a small request would have needed, if one was refused. */
  refused?: number | undefined;
}

interface ComposeOptions {
  accounts: readonly LimitedAccount[];
  budgets: readonly LiveBudget[];
  /** By the team's budget id. */
  standings: ReadonlyMap<number, Standing>;
  /** By the team's clock, UTC ms. */
  teamNow: number;
  /** By this machine's monotonic clock, ms. */
  nowMs: number;
  isLeaving?: boolean;
}

/** The next period's slice is requested this long before the period starts. */
const EARLY_MS = 55_000;

/** Rows of a message, from each budget's own demand. */
export function composeMessage(options: ComposeOptions): SyncRow[] {
  const { accounts, budgets, standings, teamNow, nowMs, isLeaving = false } = options;
  const live = new Map(budgets.map((budget) => [budget.id, budget]));
  const rows: SyncRow[] = [];
  for (const id of new Set([...live.keys(), ...accounts.map(({ budgetId }) => budgetId)])) {
    const own = accounts.filter(({ budgetId }) => budgetId === id);
    const budget = live.get(id);
    if (!budget) {
      // Removed from the team: return its money and report its remaining spend.
      rows.push(
        ...messageRows({ accounts: own, running: new Map(), standings, demand: IDLE, nowMs, isLeaving }),
      );
      continue;
    }
    const { start, ends, demand, need } = budget;
    const common = { standings, demand, nowMs, isLeaving };
    const isNextDue = teamNow >= ends - EARLY_MS && teamNow < ends;
    const next = isNextDue ? accountOf(own, id, ends) : undefined;
    const others = own.filter((account) => account.start !== next?.start);
    if (!others.some((account) => account.start === start)) others.push(accountOf(own, id, start));
    for (const row of messageRows({ ...common, accounts: others, running: new Map([[id, start]]), need })) {
      if (row.p === start && budget.refused !== undefined) row.f = budget.refused;
      rows.push(row);
    }
    if (next)
      rows.push(
        // A shortage in this period doesn't affect the next.
        ...messageRows({
          ...common,
          accounts: [next],
          running: new Map([[id, next.start]]),
          standings: new Map(),
        }),
      );
  }
  if (isLeaving) for (const row of rows) row.o = 0;
  return rows.sort((a, b) => a.b - b.b || a.p - b.p);
}

function accountOf(accounts: readonly LimitedAccount[], budgetId: number, start: number): LimitedAccount {
  const found = accounts.find((account) => account.start === start);
  return found ?? { budgetId, start, limit: 0, posted: 0, pending: 0 };
}

const IDLE: Demand = {
  asked() {},
  spent() {},
  quietMs: () => Number.POSITIVE_INFINITY,
  desired: () => 0,
};
