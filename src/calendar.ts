import { readlinkSync } from 'node:fs';
import { orElse } from './errors.ts';

/**
 * A day, week or month of an IANA time zone, as a span of UTC milliseconds. A day starts at the first instant with its local
 * date. So days without a midnight (daylight saving starts at 00:00), and days with two, are handled correctly.
 */
export interface Span {
  /** First millisecond. */
  start: number;
  /** First millisecond after the span. */
  end: number;
}

export interface Calendar {
  readonly timezone: string;
  /** The local date at `timeMs`, as YYYY-MM-DD. */
  dateOf(timeMs: number): string;
  /** The local time of day at `timeMs`, as HH:MM. */
  timeOfDay(timeMs: number): string;
  day(timeMs: number): Span;
  /** Weeks start on Monday, as in ISO 8601. */
  week(timeMs: number): Span;
  month(timeMs: number): Span;
  /** First instant of a local date (YYYY-MM-DD). */
  startOfDate(date: string): number;
}

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The system's time zone. */
export function systemTimezone(): string {
  return isSystemInUtc() ? 'UTC' : (new Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC');
}

/** Most servers run in UTC and need no `Intl`, whose first use takes a tenth of gw's start. */
function isSystemInUtc(): boolean {
  const { TZ } = process.env;
  if (TZ !== undefined) return TZ === 'UTC';
  return orElse(() => /\/UTC$/.test(readlinkSync('/etc/localtime')), false);
}

export function isTimezone(name: string): boolean {
  return orElse(() => Boolean(new Intl.DateTimeFormat('en-US', { timeZone: name })), false);
}

/** Whether the text is a valid date YYYY-MM-DD. Excludes year 0, so that the day before is valid too. */
export function isDate(text: string): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** The first and last date of a month, YYYY-MM; undefined if the month is invalid. */
export function datesOfMonth(month: string): { from: string; to: string } | undefined {
  const from = `${month}-01`;
  if (!isDate(from)) return undefined;
  return { from, to: addDays(firstOfNextMonth(from), -1) };
}

/** The date `days` days after `date`, both YYYY-MM-DD. */
export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** A date YYYY-MM-DD and a time of day HH:MM. */
interface LocalTime {
  date: string;
  time: string;
}

function timeInUtc(timeMs: number): LocalTime {
  const text = new Date(timeMs).toISOString();
  return { date: text.slice(0, 10), time: text.slice(11, 16) };
}

function timeIn(timezone: string): (timeMs: number) => LocalTime {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  return (timeMs) => {
    const parts: Record<string, string> = {};
    for (const part of format.formatToParts(timeMs)) parts[part.type] = part.value;
    return {
      date: `${parts.year?.padStart(4, '0')}-${parts.month}-${parts.day}`,
      time: `${parts.hour}:${parts.minute}`,
    };
  };
}

export function createCalendar(timezone: string): Calendar {
  const local = timezone === 'UTC' ? timeInUtc : timeIn(timezone);

  const starts = new Map<string, number>();
  function startOfDate(date: string): number {
    let start = starts.get(date);
    if (start !== undefined) return start;
    start = afterDayBefore(date) ?? search(date);
    if (starts.size > 5_000) starts.clear();
    starts.set(date, start);
    return start;
  }

  /** Fast path: most days start 24 hours after the day before, and reports ask for consecutive days. */
  function afterDayBefore(date: string): number | undefined {
    const before = starts.get(addDays(date, -1));
    if (before === undefined) return undefined;
    const start = before + DAY_MS;
    const { date: reached, time } = local(start);
    return reached === date && time === '00:00' ? start : undefined;
  }

  function search(date: string): number {
    // Binary search for the first second with this local date. No zone is more than 26 hours from UTC.
    const utc = Date.parse(`${date}T00:00:00Z`);
    let before = utc - 26 * HOUR_MS;
    let reached = utc + 26 * HOUR_MS;
    while (reached - before > SECOND_MS) {
      const middle = before + Math.floor((reached - before) / 2 / SECOND_MS) * SECOND_MS;
      if (local(middle).date >= date) reached = middle;
      else before = middle;
    }
    // If clocks are set back just after midnight, there are two midnights, up to two hours apart. The first one counts.
    const earlier = [2, 1].map((hours) => reached - hours * HOUR_MS).find((time) => local(time).date >= date);
    return earlier ?? reached;
  }

  /** Spans that start at `first(date)`. Keeps the most recent: nearly all requests of a day need the same one. */
  function spans(first: (date: string) => string, next: (date: string) => string) {
    let last: Span = { start: 0, end: 0 };
    return (timeMs: number): Span => {
      if (timeMs >= last.start && timeMs < last.end) return last;
      last = enclosing(timeMs, first(local(timeMs).date), startOfDate, next);
      return last;
    };
  }

  return {
    timezone,
    startOfDate,
    dateOf: (timeMs) => local(timeMs).date,
    timeOfDay: (timeMs) => local(timeMs).time,
    day: spans(
      (date) => date,
      (date) => addDays(date, 1),
    ),
    week: spans(mondayOf, (date) => addDays(date, 7)),
    month: spans((date) => `${date.slice(0, 7)}-01`, firstOfNextMonth),
  };
}

const firstOfNextMonth = (first: string): string => `${addDays(first, 31).slice(0, 7)}-01`;

export function mondayOf(date: string): string {
  return addDays(date, -((new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7));
}

/** The span that starts at `date`. If clocks set back at midnight repeat the old date, it may be the next span. */
function enclosing(
  timeMs: number,
  date: string,
  startOf: (date: string) => number,
  next: (date: string) => string,
): Span {
  const following = next(date);
  const end = startOf(following);
  if (timeMs < end) return { start: startOf(date), end };
  return { start: end, end: startOf(next(following)) };
}
