import type { Calendar, Span } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';

export type BudgetPeriod = 'daily' | 'monthly' | 'rolling';

/** A budget as the ledger needs it. */
export interface BudgetTerms {
  id: number;
  projectId: number;
  projectName: string;
  period: BudgetPeriod;
  windowMs: number | null;
  capNanoUsd: NanoUsd;
  alertPercent: number;
  capVersion: number;
  currentStart: number;
  /** The repository whose requests alone it counts; empty: all of the project's. */
  repo: string;
}

/** The running period of a daily or monthly budget. */
export function spanOf(period: BudgetPeriod, timeMs: number, calendar: Calendar): Span {
  return period === 'monthly' ? calendar.month(timeMs) : calendar.day(timeMs);
}

type Running = Pick<BudgetTerms, 'period' | 'currentStart'>;

/** The period that a budget is in at a time. A clock that moved back stays in the period it had reached. */
export function runningPeriod(budget: Running, now: number, calendar: Calendar): Span {
  const next = nextPeriod(budget, calendar);
  if (now < next.entersAt) return { start: budget.currentStart, end: next.entersAt };
  return spanOf(budget.period, now, calendar);
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The midnights of one date are no further apart than this, over all zones. */
const ZONES_APART_MS = 27 * HOUR_MS;

/**
 * The period behind a budget's running one, and when it is entered: its start, unless the time zone was changed in
 * between. Then the day of the new zone that begins a whole day or more after the running one began is next, and the
 * month of the new zone is entered when the running month would have ended: nobody has a cap twice by moving.
 */
function nextPeriod(
  { period, currentStart }: Running,
  calendar: Calendar,
): { start: number; entersAt: number } {
  let span = spanOf(period, currentStart, calendar);
  if (span.start === currentStart) return { start: span.end, entersAt: span.end };
  const endsAt = currentStart + (period === 'monthly' ? monthLengthMs(currentStart) : DAY_MS);
  const earliest = period === 'monthly' ? endsAt - ZONES_APART_MS : endsAt;
  while (span.end < earliest) span = spanOf(period, span.end, calendar);
  return { start: span.end, entersAt: Math.max(span.end, endsAt) };
}

/** The length of the month that began at a time, in whatever zone. */
function monthLengthMs(start: number): number {
  const middle = new Date(start + 15 * DAY_MS);
  return new Date(Date.UTC(middle.getUTCFullYear(), middle.getUTCMonth() + 1, 0)).getUTCDate() * DAY_MS;
}

/** How many periods end between a budget's period and the one that starts at `until`. */
export function boundariesBetween(budget: Running, until: number, calendar: Calendar): number {
  let count = 1;
  // Stepping by whole periods; a budget that slept for years still ends within a few thousand steps.
  for (let { start } = nextPeriod(budget, calendar); start < until; count++)
    start = spanOf(budget.period, start, calendar).end;
  return count;
}

/** The spend at which a budget's alert goes out. */
export function thresholdOf(budget: Pick<BudgetTerms, 'capNanoUsd' | 'alertPercent'>): NanoUsd {
  // In two parts: cap times percent is past what a number holds exactly from $90,000 on.
  const { capNanoUsd: cap, alertPercent } = budget;
  return Math.floor(cap / 100) * alertPercent + Math.ceil(((cap % 100) * alertPercent) / 100);
}

/** What a budget is called: its project, its period, and its repository if it is one's. */
export type BudgetKey = Pick<BudgetTerms, 'projectName' | 'period'> & { repo?: string };

/** A budget's public id: `web/daily`, or of a repository `web/daily@/home/me/shop`. */
export function budgetName({ projectName, period, repo = '' }: BudgetKey): string {
  return `${projectName}/${period}${repo === '' ? '' : `@${repo}`}`;
}

/** The id as lists show it, with the last part of the repository's path. */
export function budgetLabel(budget: BudgetKey | string): string {
  const name = typeof budget === 'string' ? budget : budgetName(budget);
  return name.replace(/@.*\/(?=.)/, '@');
}
