import type { Calendar } from '../../../calendar.ts';
import { EPOCH_MS } from '../../../ids.ts';
import { recordClockJump } from '../../database/clock-jumps.ts';
import type { Db } from '../../database/open.ts';
import { bringRecordsBack, CLOCK_SLACK_MS, latestTime } from '../../database/set-back.ts';
import { runningPeriod } from '../terms.ts';
import { bringBudgetsBack, carryOver, type EarlyBudget, prepareEarlyBudgets } from './early-spend.ts';

/** The latest time is stored in steps, so that few batches write it. */
const STEP_MS = 30_000;
/** A write that had taken its time before the clock was set back comes within this time after it. */
const STRAGGLERS_MS = 10_000;

/**
 * Knows how far the clock has got, whichever process saw it. When the clock is set back, the timeline closes what began in
 * the future, and carries what was spent there over to the periods that it had used up.
 */
export interface Timeline {
  /** Enters a batch, within its transaction. Returns whether stored balances have changed. */
  enter(now: number, othersWrote: boolean): boolean;
  /** The batch was not committed. */
  forget(): void;
}

export function createTimeline(db: Db, calendar: () => Calendar): Timeline {
  const store = db.prepare<[number]>("INSERT OR REPLACE INTO meta (key, value) VALUES ('clock_latest', ?)");
  const select = db.prepare<[], number>("SELECT value FROM meta WHERE key = 'clock_latest'").pluck();
  const earlyBudgets = prepareEarlyBudgets(db);
  let latest: number | undefined;
  let stragglersAt = Number.POSITIVE_INFINITY;
  let carryAt = Number.POSITIVE_INFINITY;
  let carriesBy: Calendar | undefined;

  function planCarry(by: Calendar): void {
    const ends = earlyBudgets().map(({ start, ...budget }) => endOf(budget, start, by));
    carryAt = Math.min(...ends);
    carriesBy = by;
  }

  return {
    enter(now, othersWrote) {
      const by = calendar();
      const isStale = latest === undefined || othersWrote;
      const known = latest ?? 0;
      // A database of an earlier version doesn't say whether its clock was wrong.
      if (isStale) latest = select.get() ?? Number.POSITIVE_INFINITY;
      // Else all that there is would be dated to 1970 by a computer that starts without the time.
      const isBack = now >= EPOCH_MS && now < (latest ?? 0) - CLOCK_SLACK_MS;
      const isBackByOthers = (latest ?? 0) < known - CLOCK_SLACK_MS;
      if (isBack || isBackByOthers) stragglersAt = now + STRAGGLERS_MS;
      if (now >= stragglersAt) {
        stragglersAt = Number.POSITIVE_INFINITY;
        bringRecordsBack(db, now);
      }
      if (isBack) {
        const from = latestTime(db);
        if (now < from - CLOCK_SLACK_MS) recordClockJump(db, { at: now, ms: now - from });
        bringBudgetsBack(db, by, now);
        bringRecordsBack(db, now);
      }
      if (isStale || isBack || by !== carriesBy) planCarry(by);
      const isDue = now >= carryAt;
      if (isDue) {
        for (const budget of earlyBudgets()) carryOver(db, budget, by, now);
        planCarry(by);
      }
      const step = now - (now % STEP_MS);
      if (isBack || step > (latest ?? 0)) {
        latest = step;
        store.run(step);
      }
      return isBack || isDue;
    },
    forget() {
      latest = undefined;
    },
  };
}

function endOf({ period }: Pick<EarlyBudget, 'period'>, start: number, calendar: Calendar): number {
  return runningPeriod({ period, currentStart: start }, start, calendar).end;
}
