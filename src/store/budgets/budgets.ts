import type { Calendar } from '../../calendar.ts';
import { badRequest, notFound } from '../../errors.ts';
import { systemRandom } from '../../ids.ts';
import { MAX_AMOUNT_NANO_USD, type NanoUsd } from '../../money.ts';
import { columnsAs, insertRow, type Row } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { changeConfiguration, inTransaction } from '../database/write.ts';
import { type Balances, createBalances } from '../ledger/balances.ts';
import { createTimeline } from '../ledger/clock.ts';
import { type CountedRequests, countedBy } from '../ledger/counted-requests.ts';
import { createEvents } from '../ledger/events.ts';
import { distinct, type Standing } from '../ledger/standing.ts';
import {
  type BudgetPeriod,
  budgetName,
  type EachKind,
  type OnLimit,
  type RunawayAction,
  type ScopeKind,
  spanOf,
} from '../ledger/terms.ts';
import {
  addMembers,
  changeMembers,
  chargeOpenHolds,
  makeMember,
  removeMembers,
  spentSince,
} from './members.ts';
import type { BudgetOwner } from './owner.ts';
import { countedProjects } from './owner.ts';

export type { Standing } from '../ledger/standing.ts';
export { budgetLabel, budgetName, thresholdOf } from '../ledger/terms.ts';

export interface BudgetSettings extends BudgetPlace {
  capNanoUsd: NanoUsd;
  /** Percentage of the cap at which the alert is sent, 1 to 100. */
  alertPercent?: number | undefined;
  /** Several of them; used instead of `alertPercent`. */
  alertPercents?: readonly number[] | undefined;
  /** Length of a rolling budget's window. */
  windowMs?: number | undefined;
  /** Default: as it is, and `block` for a new budget. */
  onLimit?: OnLimit | undefined;
  /** With `fallback`: the cheaper models, as an alias lists them, and the percentage of the cap from which on they are used. */
  fallback?: string | undefined;
  fallbackPercent?: number | undefined;
  /** Default: as it is, and `alert` for a new budget. */
  runaway?: RunawayAction | undefined;
}

export const DEFAULT_ALERT_PERCENT = 80;
const MAX_ALERTS = 10;
const MIN_WINDOW_MS = 60_000;
const MAX_WINDOW_MS = 31 * 86_400_000;

export interface BudgetContext {
  calendar: Calendar;
  now: number;
}

/**
 * Sets a project's budget for a period. A project has at most one budget a period, and one a period and repository, key,
 * session, agent, label, model or provider. A new budget counts what was spent in the running period; changing the cap keeps the spend. Throws
 * GwError 400 for a bad cap, percentage, window or key.
 */
export async function setBudget(
  db: Db,
  project: BudgetOwner,
  settings: BudgetSettings,
  { calendar, now }: BudgetContext,
): Promise<Standing> {
  checkTerms(settings);
  return changeConfiguration(db, () => {
    const balances = openBalances(db, calendar, now);
    const scope = scopeColumns(db, project, settings.scope);
    const existing = findBudget(db, project, settings, scope);
    if (!existing && scope.scopeKind === 'run') throw noSuchBudget(project, settings);
    const setting = { db, balances, project, settings, scope };
    const id = existing ? change(setting, existing) : add(setting, { calendar, now });
    const standing = balances.standings(project.id).find(({ budget }) => budget.id === id);
    balances.write();
    if (!standing) throw new Error(`budget ${id} vanished`);
    return standing;
  });
}

interface Setting {
  db: Db;
  balances: Balances;
  project: BudgetOwner;
  settings: BudgetSettings;
  scope: ScopeColumns;
}

function add(setting: Setting, context: BudgetContext): number {
  const { db, balances, project, settings, scope } = setting;
  const id = insert(setting, context);
  const counted: CountedRequests = {
    projectIds: countedProjects(project),
    repo: settings.repo,
    ...countedBy(scope.scopeKind, scope.scopeValue, scope.keyId),
    since: countsFrom(settings, context),
  };
  const { period } = settings;
  if (scope.scopeKind === 'each') {
    const kind = scope.scopeValue as EachKind;
    addMembers(db, balances, {
      id,
      projectId: project.id,
      projects: project.projects ?? '',
      period,
      kind,
      counted,
      now: context.now,
    });
    return id;
  }
  balances.seed(project.id, id, spentSince(db, counted, period).get('') ?? 0, (charge) =>
    chargeOpenHolds(db, counted, charge),
  );
  balances.announce(project.id, id);
  return id;
}

function change(setting: Setting, existing: StoredBudget): number {
  const { db, balances, project, scope } = setting;
  const { id, capNanoUsd: cap, capVersion: version } = existing;
  const changed = update(setting, existing);
  if (scope.scopeKind !== 'each') balances.announce(project.id, id, { cap, version });
  else if (changed) changeMembers(db, balances, { id, projectId: project.id });
  return id;
}

/** The budgets of a project, or of all projects, as they stand. */
export async function listBudgets(
  db: Db,
  projectIds: number[],
  { calendar, now }: BudgetContext,
): Promise<Standing[]> {
  return inTransaction(db, () => {
    const balances = openBalances(db, calendar, now);
    const standings = distinct(projectIds.flatMap((id) => balances.standings(id)));
    balances.write();
    return standings;
  });
}

/**
 * Removes a project's budget for a period, or that of a repository, key, session, agent or run. Where there is a cap for
 * each of these, that one applies again. Throws GwError 404 if there is none.
 */
export async function removeBudget(
  db: Db,
  project: BudgetOwner,
  place: BudgetPlace,
  now: number,
): Promise<void> {
  changeConfiguration(db, () => {
    const scope = scopeColumns(db, project, place.scope);
    const existing = findBudget(db, project, place, scope);
    if (existing?.parentId !== 0) throw noSuchBudget(project, place);
    const each = findEach(db, project, place.period, scope.scopeKind);
    if (each) {
      const value = scope.scopeKind === 'key' ? String(scope.keyId) : scope.scopeValue;
      // The key may have been a member before it took over the label of this budget.
      removeMembers(db, each.id, now, value);
      makeMember(db, existing.id, { parentId: each.id, value });
      return;
    }
    db.prepare('UPDATE budgets SET removed_at = ? WHERE id = ?').run(now, existing.id);
    removeMembers(db, existing.id, now);
  });
}

function noSuchBudget(project: Pick<BudgetOwner, 'name'>, { period, repo = '', scope }: BudgetPlace) {
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
  fallbackPercent = 100,
}: BudgetSettings): void {
  if (!Number.isSafeInteger(capNanoUsd) || capNanoUsd < 0 || capNanoUsd > MAX_AMOUNT_NANO_USD)
    throw badRequest('a cap is an amount from $0 to $1,000,000 with at most 9 decimal places', 'cap_usd');
  if (!(fallbackPercent >= 1 && fallbackPercent <= 100 && Number.isInteger(fallbackPercent)))
    throw badRequest(`the share ${fallbackPercent} is not a whole number from 1 to 100`, 'fallback_percent');
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
  if (period !== 'rolling' && windowMs !== undefined)
    throw badRequest(`a ${period} budget has no window: that is for the period rolling`, 'window_seconds');
}

export function openBalances(db: Db, calendar: Calendar, now: number) {
  createTimeline(db, () => calendar).enter(now, true);
  const balances = createBalances({
    db,
    calendar: () => calendar,
    emit: createEvents(db, () => now, systemRandom),
  });
  balances.begin(now);
  return balances;
}

function insert({ db, project, settings, scope }: Setting, { calendar, now }: BudgetContext): number {
  const { period, windowMs = null, capNanoUsd, repo = '' } = settings;
  const { alertPercent, alertPercents } = alertColumns(settings) ?? {
    alertPercent: DEFAULT_ALERT_PERCENT,
    alertPercents: '',
  };
  const terms = { period, windowMs, capNanoUsd, alertPercent, alertPercents, capVersion: 1 };
  const currentStart = period === 'rolling' ? now : startOf(settings, project, { calendar, now });
  return insertRow(db, 'budgets', {
    projectId: project.id,
    projects: project.projects ?? '',
    ...terms,
    ...limitColumns(settings, { onLimit: 'block', fallback: '', fallbackPercent: 100, runaway: 'alert' }),
    repo,
    ...scope,
    currentStart,
    createdAt: now,
  });
}

/**
 * Returns whether the terms or raises differ. Raises for a time end: the new cap is what the user wants now. A member
 * of a cap for each becomes a budget of its own.
 */
function update({ db, settings, scope }: Setting, existing: StoredBudget): boolean {
  const { capNanoUsd, windowMs = existing.windowMs } = settings;
  const { alertPercent, alertPercents } = alertColumns(settings) ?? existing;
  const changed =
    capNanoUsd !== existing.capNanoUsd ||
    windowMs !== existing.windowMs ||
    alertPercent !== existing.alertPercent ||
    alertPercents !== existing.alertPercents;
  const limit = limitColumns(settings, existing);
  const { id } = existing;
  const { changes: endedRaises } = db.prepare('DELETE FROM budget_raises WHERE budget_id = ?').run(id);
  const capVersion = existing.capVersion + (changed ? 1 : 0);
  const terms = { capNanoUsd, alertPercent, alertPercents, windowMs, ...limit, capVersion };
  db.prepare(`
    UPDATE budgets SET cap_nano_usd = @capNanoUsd, alert_percent = @alertPercent, alert_percents = @alertPercents,
    window_ms = @windowMs, on_limit = @onLimit, fallback = @fallback, fallback_percent = @fallbackPercent,
    runaway = @runaway, cap_version = @capVersion, parent_id = 0,
    scope_value = iif(parent_id = 0, scope_value, @scopeValue), key_id = iif(scope_kind = 'run', key_id, @keyId)
    WHERE id = @id`).run({ ...terms, ...scope, id });
  const isBent = LIMIT_COLUMNS.some((name) => limit[name] !== existing[name]);
  return changed || isBent || endedRaises > 0;
}

const LIMIT_COLUMNS = ['onLimit', 'fallback', 'fallbackPercent', 'runaway'] as const;
type LimitColumns = Pick<StoredBudget, (typeof LIMIT_COLUMNS)[number]>;

/** The columns of what happens at the limit. Cheaper models belong to `fallback` alone. */
function limitColumns(settings: BudgetSettings, existing: LimitColumns): LimitColumns {
  const { onLimit = existing.onLimit, runaway = existing.runaway } = settings;
  if (onLimit !== 'fallback') return { onLimit, fallback: '', fallbackPercent: 100, runaway };
  const { fallback = existing.fallback, fallbackPercent } = settings;
  if (fallback === '')
    throw badRequest('name the cheaper models, such as openai/gpt-5-mini,ollama/qwen3', 'fallback');
  // A new list begins at the limit again.
  const before = settings.onLimit === undefined ? existing.fallbackPercent : 100;
  return { onLimit, fallback, fallbackPercent: fallbackPercent ?? before, runaway };
}

/** The columns of the alerts that the settings name: the lowest, and all if there are several. */
function alertColumns({ alertPercent, alertPercents }: BudgetSettings) {
  const given = alertPercents ?? (alertPercent === undefined ? undefined : [alertPercent]);
  if (given === undefined) return undefined;
  const sorted = [...new Set(given)].sort((a, b) => a - b);
  return {
    alertPercent: sorted[0] ?? DEFAULT_ALERT_PERCENT,
    alertPercents: sorted.length > 1 ? JSON.stringify(sorted) : '',
  };
}

/** When the running period began: that of a lifetime budget with its project. */
function startOf({ period }: BudgetSettings, project: BudgetOwner, { calendar, now }: BudgetContext): number {
  return period === 'lifetime' ? project.createdAt : spanOf(period, now, calendar).start;
}

/** The time from which a new budget counts requests. */
function countsFrom({ period, windowMs }: BudgetSettings, { calendar, now }: BudgetContext): number {
  if (period === 'lifetime') return 0;
  return period === 'rolling' ? now - (windowMs ?? 0) : spanOf(period, now, calendar).start;
}

/** Scope of a budget, besides a repository. */
export interface Scope {
  kind: Exclude<ScopeKind, 'team'>;
  /** As `scopeValue` of a budget; of a key, its label or id. */
  value: string;
}

/** Identity of a budget within its project. */
interface BudgetPlace {
  period: BudgetPeriod;
  /** '' or undefined: all of the project's requests. */
  repo?: string | undefined;
  scope?: Scope | undefined;
}

const STORED = [
  ...(['id', 'capNanoUsd', 'capVersion', 'alertPercent', 'alertPercents', 'windowMs'] as const),
  ...(['onLimit', 'fallback', 'fallbackPercent', 'runaway', 'parentId'] as const),
];

/** A live budget as it is stored. */
type StoredBudget = Pick<Row<'budgets'>, (typeof STORED)[number]>;

/** The columns that a scope is stored in. */
type ScopeColumns = Pick<Row<'budgets'>, 'scopeKind' | 'scopeValue' | 'keyId'>;

/** The live budget of a place, or the member of a cap for each that has it; undefined if there is none. */
function findBudget(
  db: Db,
  { id, projects = '' }: BudgetOwner,
  { period, repo = '' }: BudgetPlace,
  scope: ScopeColumns,
): StoredBudget | undefined {
  return db
    .prepare<[Record<string, string | number>], StoredBudget>(`
      SELECT ${columnsAs(STORED)} FROM budgets WHERE projects = @projects
      AND (project_id = @id OR @projects <> '') AND period = @period AND repo = @repo
      AND scope_kind = @scopeKind AND removed_at IS NULL
      AND (scope_value = @scopeValue OR (scope_kind = 'key' AND key_id = @keyId)) ORDER BY parent_id, key_id <> @keyId, id LIMIT 1`)
    .get({ id, projects, period, repo, ...scope });
}

/** The cap for each of a kind that a budget would be a member of. */
function findEach(
  db: Db,
  project: BudgetOwner,
  period: BudgetPeriod,
  kind: string,
): StoredBudget | undefined {
  return findBudget(db, project, { period }, { scopeKind: 'each', scopeValue: kind, keyId: 0 });
}

/** What a budget of a scope counts. Throws GwError 400 for a key that the project doesn't have. */
export function countedInScope(
  db: Db,
  project: BudgetOwner,
  scope: Scope | undefined,
): Partial<CountedRequests> {
  const { scopeKind, scopeValue, keyId } = scopeColumns(db, project, scope);
  return countedBy(scopeKind, scopeValue, keyId);
}

/** The columns of a scope. Throws GwError 400 for a key that the project doesn't have. */
function scopeColumns(db: Db, project: BudgetOwner, scope: Scope | undefined): ScopeColumns {
  if (scope === undefined) return { scopeKind: '', scopeValue: '', keyId: 0 };
  if (scope.kind === 'key' && (project.projects ?? '') !== '')
    throw badRequest(
      `a key is of one project, so a budget for it is too: leave out the others of ${project.name}`,
      'scope',
    );
  if (scope.kind !== 'key') return { scopeKind: scope.kind, scopeValue: scope.value, keyId: 0 };
  const keys = db
    .prepare<[Record<string, string | number>], { id: number; label: string | null; others: number }>(`
      SELECT id, label, (SELECT count(*) FROM keys o WHERE o.project_id = k.project_id AND o.label = k.label
        AND o.id <> k.id AND o.revoked_at IS NULL) AS others FROM keys k WHERE project_id = @projectId AND (label = @value OR CAST(id AS TEXT) = @value)
      ORDER BY label IS @value, revoked_at IS NULL, id`)
    .all({ projectId: project.id, value: scope.value });
  const key = keys.at(-1);
  if (!key)
    throw badRequest(
      `project ${project.name} has no key "${scope.value}": use its label or id. See: gw keys list -p ${project.name}`,
      'scope',
    );
  // A label that other keys have too, or that reads as an id, names none.
  const isName = key.label !== null && key.others === 0 && !/^\d+$/.test(key.label);
  return { scopeKind: 'key', scopeValue: isName ? (key.label ?? '') : String(key.id), keyId: key.id };
}
