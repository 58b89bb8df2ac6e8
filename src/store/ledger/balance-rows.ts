import type { NanoUsd } from '../../money.ts';
import type { Db } from '../database/open.ts';
import { SHARES } from '../database/sql-parts.ts';
import { ALL_PROJECTS, type BudgetTerms, type Fall } from './terms.ts';

/** Spend and holds of one budget in one period (in one minute, for a rolling budget). */
export interface BalanceRow {
  start: number;
  posted: NanoUsd;
  pending: NanoUsd;
  /** The cap version whose event was emitted last; 0: none. */
  thresholdVersion: number;
  exceededVersion: number;
  /** The highest alert that `thresholdVersion` has had; 0: its only one. */
  thresholdPercent: number;
}

/** The columns that record which events were emitted. */
export type Mark = 'thresholdVersion' | 'exceededVersion';

/** The cap of a budget after raises have ended. */
interface EndedRaises {
  capNanoUsd: NanoUsd;
  capVersion: number;
  /** When the next raise ends; null: none is left. */
  raisedUntil: number | null;
  raisedNanoUsd: NanoUsd;
}

/** Reads and writes the rows of budgets and of their balances. */
export type BalanceRows = ReturnType<typeof createBalanceRows>;

/** SQL for the terms of budgets `b`: what raises add to the cap, and when the first of them ends. */
const RAISE_COLUMNS = `(SELECT min(until) FROM budget_raises WHERE budget_id = b.id) AS raisedUntil,
  coalesce((SELECT sum(amount_nano_usd) FROM budget_raises WHERE budget_id = b.id), 0) AS raisedNanoUsd`;

/** SQL for the name under which budgets `b` stand, of projects `p`. In `main`, as a project may see no other's row. */
export const PROJECT_NAME = `CASE b.projects WHEN '' THEN p.name WHEN '*' THEN '${ALL_PROJECTS}' ELSE (SELECT group_concat(name, ',' ORDER BY name)
  FROM main.projects WHERE id IN (SELECT value FROM json_each(b.projects))) END`;

/** SQL that selects the terms of budgets `b` in projects `p`. */
export const SELECT_TERMS = `SELECT b.id, b.project_id AS projectId, b.projects, ${PROJECT_NAME} AS projectName, b.period,
  b.window_ms AS windowMs, b.cap_nano_usd AS capNanoUsd, b.alert_percent AS alertPercent,
  b.alert_percents AS alertPercents, b.cap_version AS capVersion, b.current_start AS currentStart, b.repo,
  b.scope_kind AS scopeKind, b.scope_value AS scopeValue, b.key_id AS keyId, b.parent_id AS parentId,
  b.team_budget_id AS teamBudgetId, b.on_limit AS onLimit, b.fallback, b.fallback_percent AS fallbackPercent,
  b.fallback_version AS fallbackVersion, b.fallback_start AS fallbackStart, b.runaway, b.removed_at IS NOT NULL AS removed, ${RAISE_COLUMNS} FROM budgets b JOIN main.projects p ON p.id = b.project_id`;

const LIVE = 'removed_at IS NULL AND parent_id = 0';

/**
 * SQL for the budgets `b` that a project has: its own, and those of its team that count it. As two lists, each of which has
 * an index: with OR, SQLite reads the budgets of all projects.
 */
export const IN_PROJECT = `b.id IN (
  SELECT id FROM budgets WHERE project_id = @projectId AND team_budget_id IS NULL AND projects = '' AND ${LIVE}
  UNION ALL SELECT id FROM budgets WHERE projects <> '' AND ${LIVE}
  AND (projects = '*' OR @projectId IN (SELECT value FROM json_each(projects)))
  UNION ALL SELECT id FROM budgets WHERE team_budget_id IS NOT NULL AND ${LIVE}
  AND scope_value IN ('', (SELECT name FROM projects WHERE id = @projectId)))`;

/** Prepares the search for the member of a cap for each that has spent and holds most. */
export function prepareFullest(db: Db): (parent: BudgetTerms, from: number) => number | undefined {
  const members = `budgets b JOIN budget_periods s ON s.budget_id = b.id
    WHERE b.parent_id = @id AND b.parent_id <> 0 AND b.removed_at IS NULL`;
  type Parameters = { id: number; from: number };
  const inPeriod = db
    .prepare<[Parameters], number>(`SELECT b.id FROM ${members} AND s.start = b.current_start
      AND b.current_start >= @from ORDER BY s.posted_nano_usd + s.pending_nano_usd DESC, b.id LIMIT 1`)
    .pluck();
  const inWindow = db
    .prepare<[Parameters], number>(`
      SELECT b.id FROM ${members} AND (s.start > @from OR s.pending_nano_usd > 0) GROUP BY b.id
      ORDER BY sum(iif(s.start > @from, s.posted_nano_usd, 0) + s.pending_nano_usd) DESC, b.id LIMIT 1`)
    .pluck();
  return ({ id, period }, from) => (period === 'rolling' ? inWindow : inPeriod).get({ id, from });
}

/** Prepares the copy of the raises of a cap for each to a member. */
export function prepareCopyRaises(db: Db) {
  return db.prepare<[{ id: number; parentId: number }]>(`
    INSERT INTO budget_raises (budget_id, amount_nano_usd, until, created_at)
    SELECT @id, amount_nano_usd, until, created_at FROM budget_raises WHERE budget_id = @parentId`);
}

/** Prepares the insertion of a member: with the terms and raises of its parent, and nothing spent. */
export function prepareInsertMember(db: Db) {
  const insert = db.prepare<[Record<string, number | string>]>(`
    INSERT INTO budgets (project_id, period, window_ms, cap_nano_usd, alert_percent, alert_percents, cap_version,
    current_start, created_at, scope_kind, scope_value, key_id, parent_id, on_limit, fallback, fallback_percent, runaway,
    projects)
    SELECT project_id, period, window_ms, cap_nano_usd, alert_percent, alert_percents, 1, @start, @now, scope_value,
    @value, @keyId, id, on_limit, fallback, fallback_percent, runaway, projects
    FROM budgets WHERE id = @parentId`);
  const copyRaises = prepareCopyRaises(db);
  return (
    { id, period, scopeValue, currentStart, raisedUntil }: BudgetTerms,
    value: string,
    now: number,
  ): number => {
    const start = period === 'rolling' ? now : currentStart;
    const keyId = scopeValue === 'key' ? Number(value) : 0;
    const member = Number(insert.run({ start, now, value, keyId, parentId: id }).lastInsertRowid);
    if (raisedUntil !== null) copyRaises.run({ id: member, parentId: id });
    return member;
  };
}

export function createBalanceRows(db: Db) {
  const selectProject = db.prepare<{ projectId: number }, BudgetTerms>(`${SELECT_TERMS} WHERE ${IN_PROJECT}
    ORDER BY b.period, b.repo, b.scope_kind, b.scope_value, b.projects`);
  const selectBudget = db.prepare<[number], BudgetTerms>(`${SELECT_TERMS} WHERE b.id = ?`);
  const selectMember = db.prepare<[number, string], BudgetTerms>(`${SELECT_TERMS} WHERE b.parent_id = ?
    AND b.scope_value = ? AND b.parent_id <> 0 AND b.removed_at IS NULL`);
  const insertMember = prepareInsertMember(db);
  /** The member of a cap for each that has spent and holds most in the running period, or since `from`. */
  const fullest = prepareFullest(db);
  const selectProjects = db
    .prepare<[], number>('SELECT DISTINCT project_id FROM budgets WHERE removed_at IS NULL AND parent_id = 0')
    .pluck();
  const selectBalance = db.prepare<[number, number], BalanceRow>(`
    SELECT start, posted_nano_usd AS posted, pending_nano_usd AS pending, threshold_version AS thresholdVersion,
    exceeded_version AS exceededVersion, threshold_percent AS thresholdPercent FROM budget_periods WHERE budget_id = ? AND start = ?`);
  const upsert = db.prepare(`
    INSERT INTO budget_periods (budget_id, start, posted_nano_usd, pending_nano_usd, threshold_version, exceeded_version,
    threshold_percent, rolling)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET posted_nano_usd = excluded.posted_nano_usd,
    pending_nano_usd = excluded.pending_nano_usd, threshold_version = excluded.threshold_version,
    exceeded_version = excluded.exceeded_version, threshold_percent = excluded.threshold_percent`);
  const advance = db.prepare<[number, number]>('UPDATE budgets SET current_start = ? WHERE id = ?');
  const advanceTeam = db
    .prepare<{ id: number; start: number }, NanoUsd>(`
      UPDATE budgets SET current_start = @start, cap_nano_usd = coalesce((SELECT limit_nano_usd FROM team_limits
      WHERE budget_id = @id AND start = @start), 0) WHERE id = @id RETURNING cap_nano_usd`)
    .pluck();
  const fall = db.prepare<[number, number, number]>(
    'UPDATE budgets SET fallback_version = ?, fallback_start = ? WHERE id = ?',
  );
  const selectListeners = db
    .prepare<[{ id: number }], number>(`SELECT b.project_id FROM budgets b WHERE b.id = @id UNION SELECT p.id
      FROM budgets b JOIN projects p ON ${SHARES} JOIN webhook_endpoints w ON w.project_id = p.id WHERE b.id = @id`)
    .pluck();
  return {
    /** The projects whose webhooks hear of a budget that several share. */
    listenersOf: ({ id }: Pick<BudgetTerms, 'id'>): number[] => selectListeners.all({ id }),
    /** A project's budgets that are not removed, without the members of caps for each. */
    termsOf: (projectId: number): BudgetTerms[] => selectProject.all({ projectId }),
    /** One budget, removed or not. */
    termsById: (budgetId: number): BudgetTerms | undefined => selectBudget.get(budgetId),
    /** The member of a cap for each, added if there is none. */
    member(parent: BudgetTerms, value: string, now: number): BudgetTerms {
      const existing = selectMember.get(parent.id, value);
      if (existing) return existing;
      const added = selectBudget.get(insertMember(parent, value, now));
      if (!added) throw new Error(`a member of budget ${parent.id} vanished`);
      return added;
    },
    fullest,
    /** The projects that have budgets. */
    projects: (): number[] => selectProjects.all(),
    /** Moves a budget to the period that starts at `currentStart`. */
    advance: (budgetId: number, currentStart: number) => void advance.run(currentStart, budgetId),
    /** As `advance`, for a team budget. Returns what may be spent in that period. */
    advanceTeam: (id: number, start: number): NanoUsd => advanceTeam.get({ id, start }) ?? 0,
    /** A balance; all zero if there is no row. */
    read: (budgetId: number, start: number): BalanceRow =>
      selectBalance.get(budgetId, start) ?? {
        start,
        posted: 0,
        pending: 0,
        thresholdVersion: 0,
        exceededVersion: 0,
        thresholdPercent: 0,
      },
    write: ({ id, period }: Pick<BudgetTerms, 'id' | 'period'>, row: BalanceRow) =>
      void upsert.run(
        id,
        row.start,
        row.posted,
        row.pending,
        row.thresholdVersion,
        row.exceededVersion,
        row.thresholdPercent,
        period === 'rolling' ? 1 : 0,
      ),
    /** Notes since when a budget sends requests to its cheaper models. */
    fall: (budgetId: number, { version, start }: Fall) => void fall.run(version, start, budgetId),
    /** Ends the raises of a budget that are due. */
    endRaises: createRaiseEnd(db),
  };
}

/** Returns a function that ends the raises of a budget that are due: its cap falls back, as a new version. */
function createRaiseEnd(db: Db): (budgetId: number, now: number) => EndedRaises {
  const lower = db.prepare<{ id: number; now: number }>(`
    UPDATE budgets SET cap_version = cap_version + 1, cap_nano_usd = max(0, cap_nano_usd -
    (SELECT sum(amount_nano_usd) FROM budget_raises WHERE budget_id = @id AND until <= @now)) WHERE id = @id`);
  const remove = db.prepare<[number, number]>('DELETE FROM budget_raises WHERE budget_id = ? AND until <= ?');
  const select = db.prepare<[number], EndedRaises>(
    `SELECT cap_nano_usd AS capNanoUsd, cap_version AS capVersion, ${RAISE_COLUMNS} FROM budgets b WHERE id = ?`,
  );
  return (id, now) => {
    lower.run({ id, now });
    remove.run(id, now);
    const ended = select.get(id);
    if (!ended) throw new Error(`budget ${id} vanished`);
    return ended;
  };
}

/** The sums over a rolling budget's window. */
export interface WindowSums {
  posted: NanoUsd;
  /** Sum of all open holds, however old. */
  pending: NanoUsd;
  /** The first minute with spend; null without any. */
  oldest: number | null;
  /** Whether the events of the budget's cap version were emitted in the window, and the highest alert of them. */
  thresholdVersion: boolean;
  exceededVersion: boolean;
  thresholdPercent: number;
}

/** A stored sum, so that a window of thousands of minutes is not added up for each batch. */
interface StoredWindow {
  /** The sum is of the minutes that start after this; null: not summed yet. */
  from: number | null;
  posted: NanoUsd;
}

/** Reads and writes the windows of rolling budgets. */
export type WindowRows = ReturnType<typeof createWindowRows>;

export function createWindowRows(db: Db) {
  const select = db.prepare<[number], StoredWindow>(
    'SELECT window_from AS "from", window_posted_nano_usd AS posted FROM budgets WHERE id = ?',
  );
  const update = db.prepare<[number, number, number]>(`UPDATE budgets
    SET window_from = ?, window_posted_nano_usd = ? WHERE id = ?`);
  const sumPosted = db
    .prepare<[number, number, number], number>(`SELECT coalesce(sum(posted_nano_usd), 0) FROM budget_periods
      WHERE budget_id = ? AND start > ? AND start <= ?`)
    .pluck();
  const selectOldest = db
    .prepare<[number, number], number>(`SELECT start FROM budget_periods WHERE budget_id = ? AND start > ?
      AND posted_nano_usd > 0 ORDER BY start LIMIT 1`)
    .pluck();
  const sumPending = db
    .prepare<[number], number>(`SELECT coalesce(sum(pending_nano_usd), 0) FROM budget_periods
      WHERE budget_id = ? AND rolling = 1 AND pending_nano_usd > 0`)
    .pluck();
  const selectMark = (column: string) =>
    db.prepare<[number, number, number]>(
      // Without the hint SQLite scans the primary key: every minute of the window.
      `SELECT 1 FROM budget_periods INDEXED BY budget_periods_marked WHERE budget_id = ? AND start > ?
       AND ${column} = ? AND (threshold_version > 0 OR exceeded_version > 0) LIMIT 1`,
    );
  const selectHighest = db
    .prepare<[number, number, number], number | null>(`
      SELECT max(threshold_percent) FROM budget_periods INDEXED BY budget_periods_marked WHERE budget_id = ?
      AND start > ? AND threshold_version = ? AND (threshold_version > 0 OR exceeded_version > 0)`)
    .pluck();
  /** The highest alert of a cap version in the minutes that start after `from`; 0: its only one, or none. */
  const highestAlert = (budgetId: number, from: number, version: number) =>
    selectHighest.get(budgetId, from, version) ?? 0;
  const marks = {
    thresholdVersion: selectMark('threshold_version'),
    exceededVersion: selectMark('exceeded_version'),
  };

  /** Whether a minute that starts after `from` has the mark of a cap version. */
  const isMarked = (budgetId: number, from: number, mark: Mark, version: number) =>
    marks[mark].get(budgetId, from, version) !== undefined;

  /** Posted spend of the minutes that start after `from`, which may be earlier than that of the stored sum. */
  function postedAfter(budgetId: number, from: number): NanoUsd {
    const between = (after: number, last: number) => sumPosted.get(budgetId, after, last) ?? 0;
    const stored = select.get(budgetId);
    if (!stored || stored.from === null) return between(from, Number.MAX_SAFE_INTEGER);
    if (stored.from <= from) return stored.posted - between(stored.from, from);
    return stored.posted + between(from, stored.from);
  }

  return {
    /** Sums over the minutes that start after `from`: the stored sum, corrected by the minutes that it moved by. */
    sum: ({ id, capVersion }: BudgetTerms, from: number): WindowSums => ({
      posted: postedAfter(id, from),
      pending: sumPending.get(id) ?? 0,
      oldest: selectOldest.get(id, from) ?? null,
      thresholdVersion: isMarked(id, from, 'thresholdVersion', capVersion),
      exceededVersion: isMarked(id, from, 'exceededVersion', capVersion),
      thresholdPercent: highestAlert(id, from, capVersion),
    }),
    /** Stores what the minutes that start after `from` have posted, in the transaction that changed one of them. */
    write: (budgetId: number, from: number, posted: NanoUsd) => void update.run(from, posted, budgetId),
    isMarked,
    highestAlert,
  };
}
