import type { Calendar, Span } from '../../calendar.ts';
import { type Labels, labelName } from '../../labels.ts';
import type { NanoUsd } from '../../money.ts';
import type { Row } from '../database/columns.ts';

type BudgetRow = Row<'budgets'>;

/** `lifetime`: it never starts again from zero. */
export type BudgetPeriod = BudgetRow['period'];

/** The terms of a budget. */
export interface BudgetTerms
  extends Omit<
    BudgetRow,
    'scopeKind' | 'createdAt' | 'removedAt' | 'windowFrom' | 'windowPostedNanoUsd' | 'earlyStart'
  > {
  projectName: string;
  /** Sum of the temporary raises, and when the first of them ends; null: there are none. */
  raisedNanoUsd: NanoUsd;
  raisedUntil: number | null;
  /** The budget's scope besides a repository; '': none. */
  scopeKind: ScopeKind | '';
  /** 1 if it was removed. */
  removed: number;
}

export const PERIODS = ['daily', 'weekly', 'monthly', 'rolling', 'lifetime'] as const;

/** `ask`: the request waits for its owner's answer before it is refused; `fallback`: it goes to a cheaper model. */
export const ON_LIMITS = ['block', 'ask', 'fallback'] as const;
export type OnLimit = (typeof ON_LIMITS)[number];

/** What happens to requests of a session that is taken for a runaway, the mildest first. */
export const RUNAWAY_ACTIONS = ['alert', 'ask', 'block'] as const;
export type RunawayAction = (typeof RUNAWAY_ACTIONS)[number];

/**
 * What a budget can be for, besides a repository. A budget for `each` of a kind counts nothing itself: each of these
 * has a budget of its own, a member, which is added with its first request.
 */
export type ScopeKind =
  | 'run'
  | 'key'
  | 'session'
  | 'agent'
  | 'model'
  | 'provider'
  | LabelKind
  | 'each'
  | 'team';

/** Of a label: `label:customer`; the value is `acme`. */
export type LabelKind = `label:${string}`;

/** Kinds of members that a per-member cap can have. */
export const EACH_KINDS = ['session', 'agent', 'key', 'model', 'provider'] as const;
export type EachKind = (typeof EACH_KINDS)[number] | LabelKind;

export const isEachKind = (kind: string): kind is EachKind =>
  labelName(kind) !== undefined || EACH_KINDS.some((each) => each === kind);

/** The kinds of members as an option takes them. */
export const EACH_CHOICES = `${EACH_KINDS.join(', ')} or label:NAME`;

/** Fields that decide which budgets of a project count a request; undefined or '' if unknown. */
export interface CountedRequest {
  keyId: number;
  repo: string;
  agent?: string | undefined;
  session?: string | undefined;
  /** The target of the attempt. */
  provider: string;
  model: string;
  labels?: Labels | undefined;
}

/** Whether a budget counts a request of its project. */
export function countsRequest(budget: BudgetTerms, request: CountedRequest): boolean {
  if (budget.repo !== '' && budget.repo !== request.repo) return false;
  if (budget.keyId !== 0 && budget.keyId !== request.keyId) return false;
  switch (budget.scopeKind) {
    case '':
    case 'run':
    case 'key':
    case 'team':
      return true;
    case 'session':
      return budget.scopeValue === request.session;
    case 'agent':
      return budget.scopeValue === request.agent;
    case 'provider':
      return budget.scopeValue === request.provider;
    case 'model':
      return matchesModel(budget.scopeValue, request);
    case 'each':
      return false;
    default:
      return request.labels?.get(labelName(budget.scopeKind) ?? '') === budget.scopeValue;
  }
}

/** Whether a budget is for what serves a request: another target may have room where it has none. */
export const isOfTarget = ({ scopeKind }: Pick<BudgetTerms, 'scopeKind'>): boolean =>
  scopeKind === 'model' || scopeKind === 'provider';

type ServedBy = Pick<CountedRequest, 'provider' | 'model'>;

/** A model with its provider in front, once. */
export const targetName = ({ provider, model }: ServedBy): string =>
  provider === '' || model.startsWith(`${provider}/`) ? model : `${provider}/${model}`;

/** Whether a pattern with `*` for any text matches a model, with or without its provider in front. */
export function matchesModel(pattern: string, served: ServedBy): boolean {
  const name = targetName(served);
  if (!pattern.includes('*')) return pattern === name || pattern === served.model;
  const parts = pattern.split('*');
  return matchesParts(parts, name) || matchesParts(parts, served.model);
}

/** Whether a text begins and ends with the first and last part, with the others in between, in order. */
function matchesParts(parts: readonly string[], text: string): boolean {
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (!text.startsWith(first) || !text.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= text.length;
}

/** The member of a per-member cap that counts a request; '': none. */
export function memberValue(kind: string, request: CountedRequest): string {
  const { keyId, agent = '', session = '', provider, labels } = request;
  switch (kind) {
    case 'key':
      return String(keyId);
    case 'session':
      return session;
    case 'agent':
      return agent;
    case 'provider':
      return provider;
    case 'model':
      return targetName(request);
    default:
      return labels?.get(labelName(kind) ?? '') ?? '';
  }
}

/** The day, week or month that contains a time. */
export function spanOf(period: BudgetPeriod, timeMs: number, calendar: Calendar): Span {
  if (period === 'weekly') return calendar.week(timeMs);
  return period === 'monthly' ? calendar.month(timeMs) : calendar.day(timeMs);
}

type Running = Pick<BudgetTerms, 'period' | 'currentStart'>;

/** The period that a budget is in at a time. After the clock moved back, it stays in the period that it had reached. */
export function runningPeriod(budget: Running, now: number, calendar: Calendar): Span {
  if (budget.period === 'lifetime') return { start: budget.currentStart, end: Number.POSITIVE_INFINITY };
  const next = nextPeriod(budget, calendar);
  if (now < next.entersAt) return { start: budget.currentStart, end: next.entersAt };
  return spanOf(budget.period, now, calendar);
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The midnights of a date, over all zones, are at most this far apart. */
const ZONES_APART_MS = 27 * HOUR_MS;

/**
 * The period after a budget's running one, and when it is entered: at its start, unless the time zone was changed
 * meanwhile. Then the next day is the first of the new zone that begins at least 24 hours after the running one began,
 * and the next week or month is entered when the running one would have ended. So changing the zone never yields a cap twice.
 */
function nextPeriod(
  { period, currentStart }: Running,
  calendar: Calendar,
): { start: number; entersAt: number } {
  let span = spanOf(period, currentStart, calendar);
  if (span.start === currentStart) return { start: span.end, entersAt: span.end };
  const endsAt = currentStart + lengthMs(period, currentStart);
  const earliest = period === 'daily' ? endsAt : endsAt - ZONES_APART_MS;
  while (span.end < earliest) span = spanOf(period, span.end, calendar);
  return { start: span.end, entersAt: Math.max(span.end, endsAt) };
}

/** The length of the period that began at a time, whatever its zone. */
function lengthMs(period: BudgetPeriod, start: number): number {
  if (period !== 'monthly') return period === 'weekly' ? 7 * DAY_MS : DAY_MS;
  const middle = new Date(start + 15 * DAY_MS);
  return new Date(Date.UTC(middle.getUTCFullYear(), middle.getUTCMonth() + 1, 0)).getUTCDate() * DAY_MS;
}

/** The number of period boundaries between a budget's period and the one that starts at `until`. */
export function boundariesBetween(budget: Running, until: number, calendar: Calendar): number {
  let count = 1;
  // Steps over whole periods: a few thousand for a budget that was idle for years.
  for (let { start } = nextPeriod(budget, calendar); start < until; count++)
    start = spanOf(budget.period, start, calendar).end;
  return count;
}

/** The shares of the cap at which a budget's alerts are sent, ascending. */
export function alertsOf({
  alertPercent,
  alertPercents,
}: Pick<BudgetTerms, 'alertPercent' | 'alertPercents'>): readonly number[] {
  return alertPercents === '' ? [alertPercent] : (JSON.parse(alertPercents) as number[]);
}

/** The spend at which a budget's alert is sent: the first, or that of a share of the cap. */
export function thresholdOf(
  budget: Pick<BudgetTerms, 'capNanoUsd' | 'alertPercent'>,
  alertPercent = budget.alertPercent,
): NanoUsd {
  // In two parts: from $90,000 on, cap times percent is no longer a safe integer.
  const { capNanoUsd: cap } = budget;
  return Math.floor(cap / 100) * alertPercent + Math.ceil(((cap % 100) * alertPercent) / 100);
}

/** The period, and the version of the cap, in which a budget has sent requests to its cheaper models. */
export interface Fall {
  version: number;
  /** Of a rolling budget: when. */
  start: number;
}

export const fallNow = ({ period, capVersion, currentStart }: BudgetTerms, now: number): Fall => ({
  version: capVersion,
  start: period === 'rolling' ? now : currentStart,
});

/** Whether it lasts: until the period's reset or a raise; of a rolling budget, as long as its window. */
export function isFallen(budget: BudgetTerms, { version, start }: Fall, now: number): boolean {
  if (version !== budget.capVersion) return false;
  return budget.period === 'rolling'
    ? start <= now && now < start + (budget.windowMs ?? 0)
    : start === budget.currentStart;
}

/** The name of all projects, where a budget is for them. */
export const ALL_PROJECTS = '@all';

/** A budget's identity: its project, its period and, if it has one, its repository or scope. */
export type BudgetKey = Pick<BudgetTerms, 'projectName' | 'period'> &
  Partial<Pick<BudgetTerms, 'repo' | 'scopeKind' | 'scopeValue'>>;

/** A budget's public id, such as `web/daily`, `api,web/daily`, `@all/daily`, `@team/daily`, `web/daily@/home/me/shop`, `web/daily@key:ci` or `web/run@run_4f...`. */
export function budgetName({
  projectName,
  period,
  repo = '',
  scopeKind = '',
  scopeValue = '',
}: BudgetKey): string {
  if (scopeKind === 'team') return `${scopeValue}@team/${period}`;
  if (scopeKind === 'run' && period === 'lifetime') return `${projectName}/run@${scopeValue}`;
  const separator = labelName(scopeKind) === undefined ? ':' : '=';
  const scope =
    scopeKind === '' || scopeKind === 'run' ? scopeValue : `${scopeKind}${separator}${scopeValue}`;
  const of = repo || scope;
  return `${projectName}/${period}${of === '' ? '' : `@${of}`}`;
}

/** A team budget's project ('': the whole team) and period. */
export interface TeamBudgetKey {
  project: string;
  period: 'daily' | 'monthly';
}

/** Parses the public id of a team's budget; also `team/daily` and `team/web/daily`, its names in older events. */
export function teamBudgetOf(name: string): TeamBudgetKey | undefined {
  const [, of, older, period] = /^(?:([^/@]*)@team|team(?:\/([^/@]+))?)\/(daily|monthly)$/.exec(name) ?? [];
  return period === undefined
    ? undefined
    : { project: of ?? older ?? '', period: period as TeamBudgetKey['period'] };
}

/** Says that a budget is the team's, and who changes it how. */
export function teamBudgetText({ project, period }: TeamBudgetKey, command = 'set AMOUNT'): string {
  const name = budgetName({ projectName: '', period, scopeKind: 'team', scopeValue: project });
  const of = project === '' ? '' : ` -p ${project}`;
  return `budget ${name} is the team's. An admin of the team changes it: gw team budgets ${command} --period ${period}${of}`;
}

/** The id as lists show it: only the last part of the repository's path. */
export function budgetLabel(budget: BudgetKey | string): string {
  const name = typeof budget === 'string' ? budget : budgetName(budget);
  const at = name.indexOf('@');
  const slash = name.lastIndexOf('/', name.length - 2);
  return at < 0 || name[at + 1] !== '/' || slash < at ? name : name.slice(0, at + 1) + name.slice(slash + 1);
}
