import type { Clock } from '../clock.ts';
import type { Db } from '../store/database/open.ts';
import { SELECT_TERMS } from '../store/ledger/balance-rows.ts';
import { createTeamTerms } from '../store/ledger/team-terms.ts';
import type { BudgetTerms } from '../store/ledger/terms.ts';
import { createTeamLimits } from '../store/team/limits.ts';
import { accountUpdates } from './accounts.ts';
import { composeMessage, type LiveBudget } from './compose-message.ts';
import type { Demands } from './demands.ts';
import type { Standing, SyncAnswer, SyncRow } from './protocol.ts';
import type { TeamClock } from './team-clock.ts';

/** What messages are made of and answers change. Each function runs within a transaction of the ledger. */
export interface SyncBooks {
  /** Lowers the local limits to what the message declares, and returns its rows. */
  compose(options: { isLeaving: boolean }): SyncRow[];
  apply(rows: readonly SyncRow[], answer: SyncAnswer): void;
  forgetHeard(): void;
  /** Nothing granted may be used any more. */
  voidAll(): void;
  /** Whether the last answer gave waiting requests what they asked for. */
  wasNeedMet(): boolean;
  /** Whether the authority knows all, and nothing is held or left to return here. */
  isSettled(): boolean;
}

export interface SyncBooksOptions {
  db: Db;
  clock: Pick<Clock, 'now' | 'monotonic'>;
  teamClock: TeamClock;
  demands: Demands;
}

export function createSyncBooks({ db, clock, teamClock, demands }: SyncBooksOptions): SyncBooks {
  const limits = createTeamLimits(db);
  const terms = createTeamTerms(db, () => teamClock.now());
  const selectLive = db.prepare<[], BudgetTerms>(
    `${SELECT_TERMS} WHERE b.team_budget_id IS NOT NULL AND b.removed_at IS NULL`,
  );
  /** By the team's id of a budget. */
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
    compose({ isLeaving }) {
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
    apply(rows, answer) {
      limits.set(accountUpdates(rows, answer));
      isNeedMet = true;
      for (const row of answer.rows) {
        const sent = rows.find(({ b, p }) => b === row.b && p === row.p);
        if (sent && row.l - sent.d < sent.n) isNeedMet = false;
        // A slice of the next period, or what is left of an old one.
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
    wasNeedMet: () => isNeedMet,
    isSettled: () =>
      limits
        .accounts()
        .every(
          ({ limit, posted, pending, heard }) =>
            limit <= posted && pending === 0 && heard?.limit === limit && heard.posted === posted,
        ),
  };
}
