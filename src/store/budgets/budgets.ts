import type { Calendar } from '../../calendar.ts';
import { badRequest, notFound } from '../../errors.ts';
import { requestIdAt, systemRandom } from '../../ids.ts';
import { MAX_AMOUNT_NANO_USD, type NanoUsd } from '../../money.ts';
import type { Project } from '../accounts/project.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration, inTransaction } from '../database/write.ts';
import type { Charge } from '../ledger/account.ts';
import { createBalances } from '../ledger/balances.ts';
import { createEvents } from '../ledger/events.ts';
import { IS_BILLED, SOURCES } from '../ledger/record.ts';
import type { Standing } from '../ledger/standing.ts';
import { type BudgetPeriod, budgetName, type ScopeKind, spanOf } from '../ledger/terms.ts';

export type { Standing } from '../ledger/standing.ts';
export { type BudgetKey, type BudgetPeriod, budgetLabel, budgetName, thresholdOf } from '../ledger/terms.ts';

export interface BudgetSettings {
  period: BudgetPeriod;
  capNanoUsd: NanoUsd;
  /** Percentage of the cap at which the alert is sent, 1 to 100. */
  alertPercent?: number;
  /** Several of them; used instead of `alertPercent`. */
  alertPercents?: readonly number[] | undefined;
  /** Length of a rolling budget's window. */
  windowMs?: number;
  /** Count only requests from this repository; '' or undefined: all of the project's. */
  repo?: string;
  /** Change the budget of a run. */
  scope?: Scope | undefined;
}

/** What a budget is for, besides a repository. */
export interface Scope {
  kind: ScopeKind;
  value: string;
}

export const DEFAULT_ALERT_PERCENT = 80;
const MAX_ALERTS = 10;
const HOUR_MS = 3_600_000;
const MIN_WINDOW_MS = 60_000;
const MAX_WINDOW_MS = 31 * 86_400_000;

/** What a change of a budget starts from. */
interface Existing {
  id: number;
  cap: number;
  version: number;
  alert: number;
  alerts: string;
  windowMs: number | null;
}

interface Context {
  calendar: Calendar;
  now: number;
}

/**
 * Sets a project's budget for a period. A project has at most one budget a period, and one a period and repository.
 * A new budget counts what was spent in the running period; changing the cap keeps the spend. Throws GwError 400 for a
 * bad cap, percentage or window.
 */
export async function setBudget(
  db: Db,
  project: Project,
  settings: BudgetSettings,
  { calendar, now }: Context,
): Promise<Standing> {
  checkTerms(settings);
  return changeConfiguration(db, () => {
    const balances = openBalances(db, calendar, now);
    const existing = db
      .prepare<[number, string, string, string, string], Existing>(
        `SELECT id, cap_nano_usd AS cap, cap_version AS version, alert_percent AS alert,
         alert_percents AS alerts, window_ms AS windowMs FROM budgets WHERE ${IS_BUDGET}`,
      )
      .get(project.id, settings.period, settings.repo ?? '', ...scopeColumns(settings));
    if (!existing && settings.scope) throw noSuchBudget(project, settings);
    const id = existing ? update(db, existing, settings) : insert(db, project, settings, { calendar, now });
    if (existing) balances.announce(project.id, id, existing);
    else {
      const since = countsFrom(settings, { calendar, now });
      const counted = { projectId: project.id, repo: settings.repo ?? '', since };
      balances.seed(project.id, id, spentSince(db, counted, settings.period), (charge) =>
        chargeOpenHolds(db, counted, charge),
      );
      balances.announce(project.id, id);
    }
    const standing = balances.standings(project.id).find(({ budget }) => budget.id === id);
    balances.write();
    if (!standing) throw new Error(`budget ${id} vanished`);
    return standing;
  });
}

/** The budgets of a project, or of all projects, as they stand. */
export async function listBudgets(
  db: Db,
  projectIds: number[],
  { calendar, now }: Context,
): Promise<Standing[]> {
  return inTransaction(db, () => {
    const balances = openBalances(db, calendar, now);
    const standings = projectIds.flatMap((id) => balances.standings(id));
    balances.write();
    return standings;
  });
}

/** The projects that have budgets for single repositories. */
export function projectsWithRepoBudgets(db: Db): ReadonlySet<number> {
  const select = "SELECT DISTINCT project_id FROM budgets WHERE repo <> '' AND removed_at IS NULL";
  return new Set(db.prepare<[], number>(select).pluck().all());
}

/** Removes a project's budget for a period, or that of a repository or a run. Throws GwError 404 if there is none. */
export async function removeBudget(
  db: Db,
  project: Project,
  key: Pick<BudgetSettings, 'period' | 'repo' | 'scope'>,
  now: number,
): Promise<void> {
  const { changes } = changeConfiguration(db, () =>
    db
      .prepare(`UPDATE budgets SET removed_at = ? WHERE ${IS_BUDGET}`)
      .run(now, project.id, key.period, key.repo ?? '', ...scopeColumns(key)),
  );
  if (changes === 0) throw noSuchBudget(project, key);
}

/** Selects a live budget by its project, period, repository and scope. */
const IS_BUDGET =
  'project_id = ? AND period = ? AND repo = ? AND scope_kind = ? AND scope_value = ? AND removed_at IS NULL';

const scopeColumns = ({ scope }: Pick<BudgetSettings, 'scope'>): [string, string] => [
  scope?.kind ?? '',
  scope?.value ?? '',
];

function noSuchBudget(
  project: Project,
  { period, repo = '', scope }: Pick<BudgetSettings, 'period' | 'repo' | 'scope'>,
) {
  const scoped = scope && { scopeKind: scope.kind, scopeValue: scope.value };
  const name = budgetName({ projectName: project.name, period, repo, ...scoped });
  return notFound(`no budget "${name}". See: gw budget list`, 'budget_not_found');
}

export function checkTerms({
  capNanoUsd,
  alertPercent,
  alertPercents = [alertPercent ?? DEFAULT_ALERT_PERCENT],
  period,
  windowMs,
}: BudgetSettings): void {
  if (!Number.isSafeInteger(capNanoUsd) || capNanoUsd < 0 || capNanoUsd > MAX_AMOUNT_NANO_USD) {
    throw badRequest('a cap is an amount from $0 to $1,000,000 with at most 9 decimal places', 'cap_usd');
  }
  const wrong = alertPercents.find(
    (percent) => !(Number.isInteger(percent) && percent >= 1 && percent <= 100),
  );
  if (wrong !== undefined)
    throw badRequest(`alert percentage ${wrong} is not a whole number from 1 to 100`, 'alert_percent');
  if (alertPercents.length < 1 || alertPercents.length > MAX_ALERTS)
    throw badRequest(`a budget has 1 to ${MAX_ALERTS} alerts`, 'alert_percents');
  if (
    period === 'rolling' &&
    !(windowMs !== undefined && windowMs >= MIN_WINDOW_MS && windowMs <= MAX_WINDOW_MS)
  ) {
    throw badRequest('the window of a rate is from a minute to 31 days, such as 2/hour', 'window_seconds');
  }
  if (period !== 'rolling' && windowMs !== undefined) {
    throw badRequest(`a ${period} budget has no window: that is for the period rolling`, 'window_seconds');
  }
}

export function openBalances(db: Db, calendar: Calendar, now: number) {
  const balances = createBalances({
    db,
    calendar: () => calendar,
    emit: createEvents(db, () => now, systemRandom),
  });
  balances.begin(now);
  return balances;
}

function insert(db: Db, project: Project, settings: BudgetSettings, { calendar, now }: Context): number {
  const start = settings.period === 'rolling' ? now : startOf(settings, project, { calendar, now });
  const { alert, alerts } = alertColumns(settings) ?? { alert: DEFAULT_ALERT_PERCENT, alerts: '' };
  const result = db
    .prepare(
      `INSERT INTO budgets (project_id, period, window_ms, cap_nano_usd, alert_percent, alert_percents, cap_version,
       current_start, created_at, repo) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
    )
    .run(
      project.id,
      settings.period,
      settings.windowMs ?? null,
      settings.capNanoUsd,
      alert,
      alerts,
      start,
      now,
      settings.repo ?? '',
    );
  return Number(result.lastInsertRowid);
}

/** Raises for a time end: the new cap is what the user wants now. */
function update(db: Db, existing: Existing, settings: BudgetSettings): number {
  const { alert, alerts } = alertColumns(settings) ?? existing;
  const windowMs = settings.windowMs ?? existing.windowMs;
  const changed =
    settings.capNanoUsd !== existing.cap ||
    windowMs !== existing.windowMs ||
    alert !== existing.alert ||
    alerts !== existing.alerts;
  db.prepare('DELETE FROM budget_raises WHERE budget_id = ?').run(existing.id);
  db.prepare(
    `UPDATE budgets SET cap_nano_usd = ?, alert_percent = ?, alert_percents = ?, window_ms = ?, cap_version = ?
     WHERE id = ?`,
  ).run(settings.capNanoUsd, alert, alerts, windowMs, existing.version + (changed ? 1 : 0), existing.id);
  return existing.id;
}

/** The columns of the alerts that the settings name: the lowest, and all if there are several. */
function alertColumns({ alertPercent, alertPercents }: BudgetSettings) {
  const given = alertPercents ?? (alertPercent === undefined ? undefined : [alertPercent]);
  if (given === undefined) return undefined;
  const sorted = [...new Set(given)].sort((a, b) => a - b);
  return {
    alert: sorted[0] ?? DEFAULT_ALERT_PERCENT,
    alerts: sorted.length > 1 ? JSON.stringify(sorted) : '',
  };
}

/** When the running period began: that of a lifetime budget with its project. */
function startOf({ period }: BudgetSettings, project: Project, { calendar, now }: Context): number {
  return period === 'lifetime' ? project.createdAt : spanOf(period, now, calendar).start;
}

/** The time from which a new budget counts requests. */
function countsFrom({ period, windowMs }: BudgetSettings, { calendar, now }: Context): number {
  if (period === 'lifetime') return 0;
  return period === 'rolling' ? now - (windowMs ?? 0) : spanOf(period, now, calendar).start;
}

/** The requests that a new budget counts. */
interface Counted {
  projectId: number;
  /** '': any. */
  repo: string;
  since: number;
}

const REPO_ID = '(SELECT id FROM names WHERE name = @repo)';

function spentSince(db: Db, { projectId, repo, since }: Counted, period: BudgetPeriod): NanoUsd {
  const ofRepo = repo === '' ? '' : `AND repo_id = ${REPO_ID}`;
  const sum = (source: string, from: number, until = Number.MAX_SAFE_INTEGER) =>
    Number(
      db
        .prepare(
          `SELECT coalesce(sum(cost_nano_usd), 0) FROM ${source} >= @from AND ${source.split(' ').at(-1)} < @until
           AND project_id = @projectId ${ofRepo}`,
        )
        .pluck()
        .get({ projectId, repo, from, until }),
    );
  const rollups = `usage WHERE source = ${SOURCES.gw} AND bucket`;
  if (period !== 'rolling') return sum(rollups, since);
  // A window starts within an hour. If that hour's records may have been pruned, the whole hour counts.
  const hour = since - (since % HOUR_MS);
  const oldest = db.prepare('SELECT min(id) FROM request_log').pluck().get() as number | null;
  if (oldest === null || oldest > requestIdAt(since)) return sum(rollups, hour);
  const rest = sum(
    `request_log WHERE source = ${SOURCES.gw} AND ${IS_BILLED} AND id`,
    requestIdAt(since),
    requestIdAt(hour + HOUR_MS),
  );
  return rest + sum(rollups, hour + HOUR_MS);
}

/** Charges open holds to a new budget too, so that they settle in it. Returns what they hold. */
function chargeOpenHolds(db: Db, { projectId, repo, since }: Counted, [budgetId, start]: Charge): NanoUsd {
  const amounts = db
    .prepare<[Record<string, number | string>], number>(
      `UPDATE journal SET charges = json_insert(charges, '$[#]', json_array(@budgetId, CAST(@start AS INTEGER)))
       WHERE state = 0 AND ${IS_BILLED} AND project_id = @projectId AND id >= @from ${repo === '' ? '' : `AND repo_id = ${REPO_ID}`}
       RETURNING hold_nano_usd`,
    )
    .pluck()
    .all({ budgetId, start, projectId, repo, from: requestIdAt(since) });
  return amounts.reduce((sum, amount) => sum + amount, 0);
}
