import type { LimitedAccount } from '../store/team/limits.ts';
import { messageRows } from './accounts.ts';
import type { Demand } from './policy.ts';
import type { Standing, SyncRow } from './protocol.ts';

/** A budget of the team that counts requests. */
export interface LiveBudget {
  /** The team's id. */
  id: number;
  /** The running period by the team's clock, and its end by it; UTC ms. */
  start: number;
  ends: number;
  demand: Demand;
  /** What a waiting request needs; 0: none waits. */
  need: number;
  /** What a small request would have needed, if one was refused. */
  refused?: number | undefined;
}

export interface ComposeOptions {
  accounts: readonly LimitedAccount[];
  budgets: readonly LiveBudget[];
  /** By the team's id of a budget. */
  standings: ReadonlyMap<number, Standing>;
  /** By the team's clock, UTC ms. */
  teamNow: number;
  /** By this machine's monotonic clock. */
  nowMs: number;
  isLeaving?: boolean;
}

/** The next period's slice is asked for so long before it starts. */
const EARLY_MS = 55_000;

/** The rows of a message: each budget by what its own requests have needed. */
export function composeMessage(options: ComposeOptions): SyncRow[] {
  const { accounts, budgets, standings, teamNow, nowMs, isLeaving = false } = options;
  const live = new Map(budgets.map((budget) => [budget.id, budget]));
  const rows: SyncRow[] = [];
  for (const id of new Set([...live.keys(), ...accounts.map(({ budgetId }) => budgetId)])) {
    const own = accounts.filter(({ budgetId }) => budgetId === id);
    const budget = live.get(id);
    if (!budget) {
      // Removed from the team: what it has is returned, and what it spends yet is reported.
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
        // What is short in this period is not in the next.
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
