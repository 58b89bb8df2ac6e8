import type { Calendar } from '../../calendar.ts';
import { EPOCH_MS } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { bringRecordsBack, CLOCK_SLACK_MS, latestTime, recordClockJump } from '../database/set-back.ts';
import type { Charge } from './account.ts';
import { type BudgetPeriod, boundariesBetween, runningPeriod, spanOf } from './terms.ts';

const MINUTE_MS = 60_000;
/** Early spend keeps a rolling budget full for so many windows at most. */
const MAX_WINDOWS = 100;

/** A budget whose running period has spent what periods in the future were granted. */
interface EarlyBudget {
  id: number;
  period: BudgetPeriod;
  cap: NanoUsd;
  /** The period that was charged. */
  start: number;
}

/** Returns a function that reads the budgets with spend to carry over: none, unless the clock was once wrong. */
function prepareEarlyBudgets(db: Db): () => EarlyBudget[] {
  const select = db.prepare<[], EarlyBudget>(`SELECT id, period, cap_nano_usd AS cap, early_start AS start
    FROM budgets WHERE early_start IS NOT NULL`);
  return () => select.all();
}

interface FutureBudget {
  id: number;
  period: BudgetPeriod;
  windowMs: number | null;
  cap: NanoUsd;
}

interface Balance {
  posted: NanoUsd;
  pending: NanoUsd;
}

interface OpenHold {
  id: number;
  amount: NanoUsd;
  charges: Charge[];
}

/**
 * Closes the periods and minutes of budgets that began in the future, and charges the present what they spent and hold.
 * The periods of a team's budgets are those of the team's clock, which grants nothing for a period that it has not reached.
 */
function bringBudgetsBack(db: Db, calendar: Calendar, now: number): void {
  const budgets = db
    .prepare<[{ now: number }], FutureBudget>(`
      SELECT id, period, window_ms AS windowMs, cap_nano_usd AS cap FROM budgets b
      WHERE period <> 'lifetime' AND team_budget_id IS NULL AND ((period <> 'rolling' AND current_start > @now)
        OR EXISTS (SELECT 1 FROM budget_periods p WHERE p.budget_id = b.id AND p.start > @now))`)
    .all({ now });
  if (budgets.length === 0) return;
  const holds = openHolds(db);
  for (const budget of budgets) {
    const charges = holds.flatMap(({ amount, charges }) =>
      charges
        .filter(([id, start]) => id === budget.id && start > now)
        .map((charge) => ({ amount: amount - (charge[2] ?? 0), charge })),
    );
    if (budget.period === 'rolling') closeMinutes(db, budget, charges, now);
    else closePeriods(db, budget, { charges, calendar, now });
  }
  writeCharges(db, holds);
}

interface HoldCharge {
  amount: NanoUsd;
  charge: Charge;
}

/** The period that contains the present is charged. */
function closePeriods(
  db: Db,
  { id, period }: FutureBudget,
  { charges, calendar, now }: { charges: HoldCharge[]; calendar: Calendar; now: number },
): void {
  const { posted, pending } = takeAfter(db, id, now);
  const known = db
    .prepare<[number], number | null>('SELECT max(start) FROM budget_periods WHERE budget_id = ?')
    .pluck()
    .get(id);
  // After a change of the time zone, the running period may have begun at another time than the zone's own.
  const start = known
    ? runningPeriod({ period, currentStart: known }, now, calendar).start
    : spanOf(period, now, calendar).start;
  for (const { charge } of charges) charge[1] = start;
  const early = posted + pending;
  if (early > 0 || charges.length > 0) add(db, { id, start, posted, pending, early, rolling: 0 });
  db.prepare('UPDATE budgets SET current_start = ? WHERE id = ? AND current_start > ?').run(start, id, now);
  if (early > 0) db.prepare('UPDATE budgets SET early_start = ? WHERE id = ?').run(start, id);
}

/**
 * The running minute is charged. What the window has no room for is dated into the windows after it, a cap each, so that
 * none of these grants again what was spent early.
 */
function closeMinutes(db: Db, { id, windowMs, cap }: FutureBudget, charges: HoldCharge[], now: number): void {
  const lengthMs = (windowMs ?? 0) + MINUTE_MS;
  const stepMs = Math.ceil(lengthMs / MINUTE_MS) * MINUTE_MS;
  let start = now - (now % MINUTE_MS);
  keepMarksFrom(db, { id, start });
  const { posted, last } = takeAfter(db, id, now);
  let room = Math.max(0, cap - usedSince(db, id, now - lengthMs));
  let windows = 1;
  const isLast = () => cap === 0 || start + stepMs > last || windows === MAX_WINDOWS;
  const enterNext = () => {
    start += stepMs;
    room = cap;
    windows++;
  };

  for (let left = posted; left > 0; ) {
    const part = isLast() ? left : Math.min(left, room);
    if (part > 0) add(db, { id, start, posted: part, pending: 0, early: 0, rolling: 1 });
    left -= part;
    room -= part;
    if (left > 0) enterNext();
  }
  // A hold is not divided.
  for (const { amount, charge } of charges) {
    if (amount > room && room < cap && !isLast()) enterNext();
    charge[1] = start;
    room -= amount;
    add(db, { id, start, posted: 0, pending: amount, early: 0, rolling: 1 });
  }
  db.prepare('UPDATE budgets SET window_from = NULL, window_posted_nano_usd = NULL WHERE id = ?').run(id);
}

/** Marks the running minute with the events that it and minutes in the future have had, so that none is sent again. */
function keepMarksFrom(db: Db, minute: { id: number; start: number }): void {
  db.prepare<[typeof minute]>(`
    WITH marks AS (SELECT threshold_version AS version, threshold_percent AS percent, exceeded_version AS exceeded
      FROM budget_periods WHERE budget_id = @id AND start >= @start AND (threshold_version > 0 OR exceeded_version > 0))
    INSERT INTO budget_periods (budget_id, start, rolling, posted_nano_usd, pending_nano_usd, threshold_version,
      threshold_percent, exceeded_version)
    SELECT @id, @start, 1, 0, 0, max(version),
      (SELECT max(percent) FROM marks WHERE version = (SELECT max(version) FROM marks)), max(exceeded)
    FROM marks HAVING count(*) > 0
    ON CONFLICT DO UPDATE SET threshold_version = excluded.threshold_version,
      threshold_percent = excluded.threshold_percent, exceeded_version = excluded.exceeded_version`).run(
    minute,
  );
}

/** Spend in a window plus all open holds, which count whenever they began. */
function usedSince(db: Db, id: number, from: number): NanoUsd {
  const used = db
    .prepare<[number, number], NanoUsd>(`
      SELECT coalesce(sum(iif(start > ?, posted_nano_usd, 0) + pending_nano_usd), 0) FROM budget_periods
      WHERE budget_id = ?`)
    .pluck();
  return used.get(from, id) ?? 0;
}

/** Removes the balances that start in the future, and returns what was in them, and the start of the last. */
function takeAfter(db: Db, id: number, now: number): Balance & { last: number } {
  const taken = db
    .prepare<[number, number], Balance & { last: number }>(`
      SELECT coalesce(sum(posted_nano_usd), 0) AS posted, coalesce(sum(pending_nano_usd), 0) AS pending,
      coalesce(max(iif(posted_nano_usd + pending_nano_usd > 0, start, 0)), 0) AS last
      FROM budget_periods WHERE budget_id = ? AND start > ?`)
    .get(id, now);
  db.prepare('DELETE FROM budget_periods WHERE budget_id = ? AND start > ?').run(id, now);
  return taken ?? { posted: 0, pending: 0, last: 0 };
}

/**
 * At the end of a period that was charged for later ones: what it had no room for is charged to the period that runs now,
 * less the caps of those that were passed over. So each period of the future gets back what was taken from it.
 */
function carryOver(db: Db, { id, period, cap, start }: EarlyBudget, calendar: Calendar, now: number): void {
  const budget = { period, currentStart: start };
  const next = runningPeriod(budget, now, calendar).start;
  if (next <= start) return;
  const balance = db
    .prepare<[number, number], Balance & { early: NanoUsd }>(`
      SELECT posted_nano_usd AS posted, pending_nano_usd AS pending, early_nano_usd AS early FROM budget_periods
      WHERE budget_id = ? AND start = ?`)
    .get(id, start) ?? { posted: 0, pending: 0, early: 0 };
  const caps = boundariesBetween(budget, next, calendar) * cap;
  const excess = Math.min(balance.early, balance.posted + balance.pending - caps);
  if (excess > 0) {
    const posted = Math.min(excess, balance.posted);
    const pending = posted < excess ? moveHolds(db, [id, start], { to: next, atLeast: excess - posted }) : 0;
    const early = posted + pending;
    db.prepare(`
      UPDATE budget_periods SET posted_nano_usd = posted_nano_usd - ?, pending_nano_usd = pending_nano_usd - ?,
      early_nano_usd = max(0, early_nano_usd - ?) WHERE budget_id = ? AND start = ?`).run(
      posted,
      pending,
      early,
      id,
      start,
    );
    add(db, { id, start: next, posted, pending, early, rolling: 0 });
  }
  db.prepare('UPDATE budgets SET early_start = ? WHERE id = ?').run(excess > 0 ? next : null, id);
}

/** Moves whole holds to a later period, the newest first, and returns what they hold. */
function moveHolds(db: Db, [id, start]: Charge, { to, atLeast }: { to: number; atLeast: NanoUsd }): NanoUsd {
  const holds = openHolds(db);
  let moved = 0;
  for (const { amount, charges } of holds.toReversed()) {
    const charge = charges.find(([budget, from]) => budget === id && from === start);
    if (!charge || moved >= atLeast) continue;
    charge[1] = to;
    moved += amount - (charge[2] ?? 0);
  }
  writeCharges(db, holds);
  return moved;
}

function openHolds(db: Db): OpenHold[] {
  return db
    .prepare<[], { id: number; amount: NanoUsd; charges: string }>(
      "SELECT id, hold_nano_usd AS amount, charges FROM open_holds WHERE charges <> '[]' ORDER BY id",
    )
    .all()
    .map(({ charges, ...hold }) => ({ ...hold, charges: JSON.parse(charges) as Charge[] }));
}

function writeCharges(db: Db, holds: readonly OpenHold[]): void {
  const update = db.prepare<[string, number]>('UPDATE journal SET charges = ? WHERE id = ?');
  for (const { id, charges } of holds) update.run(JSON.stringify(charges), id);
}

function add(
  db: Db,
  row: { id: number; start: number; posted: NanoUsd; pending: NanoUsd; early: NanoUsd; rolling: 0 | 1 },
): void {
  db.prepare(`
    INSERT INTO budget_periods (budget_id, start, posted_nano_usd, pending_nano_usd, early_nano_usd, rolling)
    VALUES (@id, @start, @posted, @pending, @early, @rolling) ON CONFLICT DO UPDATE SET
    posted_nano_usd = posted_nano_usd + excluded.posted_nano_usd,
    pending_nano_usd = pending_nano_usd + excluded.pending_nano_usd,
    early_nano_usd = early_nano_usd + excluded.early_nano_usd`).run(row);
}

/** The latest time is stored in steps, so that few batches write it. */
const STEP_MS = 30_000;
/** A write that had taken its time before the clock was set back comes within this time after it. */
const STRAGGLERS_MS = 10_000;

/**
 * Knows how far the clock has got, whichever process saw it. When the clock is set back, the timeline closes what began in
 * the future, and carries what was spent there over to the periods that it had used up.
 */
export function createTimeline(db: Db, calendar: () => Calendar) {
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
    /** Enters a batch, within its transaction. Returns whether stored balances have changed. */
    enter(now: number, othersWrote: boolean): boolean {
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
    /** The batch was not committed. */
    forget() {
      latest = undefined;
    },
  };
}

function endOf({ period }: Pick<EarlyBudget, 'period'>, start: number, calendar: Calendar): number {
  return runningPeriod({ period, currentStart: start }, start, calendar).end;
}
