import { addDays, type Calendar, isDate } from '../../calendar.ts';
import { parseDuration } from '../../terminal/time.ts';
import { usageError } from '../exit.ts';

/** Parses a day: `2026-11-20`, `today`, `yesterday`, or `7d` for seven days ago. */
export function parseDay(text: string, option: string, calendar: Calendar, now: number): string {
  const today = calendar.dateOf(now);
  if (text === 'today') return today;
  if (text === 'yesterday') return addDays(today, -1);
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return addDays(today, -Number(days));
  if (isDate(text)) return text;
  throw usageError(`${option} ${text} is not a day: use YYYY-MM-DD, today, yesterday or 7d`);
}

const DEFAULT_DAYS = 30;

/** Parses `--from` and `--to`, two inclusive days: by default the last 30. */
export function readDays(
  { from, to = 'today' }: { from?: string | undefined; to?: string | undefined },
  calendar: Calendar,
  now: number,
): { from: string; to: string } {
  const last = parseDay(to, '--to', calendar, now);
  const first =
    from === undefined ? addDays(last, 1 - DEFAULT_DAYS) : parseDay(from, '--from', calendar, now);
  if (first > last) throw usageError(`--from ${first} is after --to ${last}`);
  return { from: first, to: last };
}

/**
 * Parses a moment in the past, as UTC milliseconds: an age (`90s`, `1h`, `7d`), a day, a day with a time of the calendar's
 * zone (`yesterday 17:00`), or an ISO time with an offset.
 */
export function parseSince(text: string, calendar: Calendar, now: number, option = '--since'): number {
  const ago = parseDuration(text);
  if (ago !== undefined) return now - ago;
  const [, day = '', time] =
    /^([a-z]+|\d{4}-\d{2}-\d{2})(?:[ T]((?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?))?$/.exec(text) ?? [];
  if (day === 'today' || day === 'yesterday' || isDate(day)) {
    const date = parseDay(day, option, calendar, now);
    return time === undefined ? calendar.startOfDate(date) : momentOf(date, time, calendar);
  }
  const moment = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(moment)) return moment;
  throw usageError(
    `${option} ${text} is not a time: use 15m, 1h, 7d, today, "yesterday 17:00", YYYY-MM-DD or an ISO time`,
  );
}

/** When the clocks of the calendar's zone show a time. Where they skip it, the moment is as much earlier. */
function momentOf(date: string, time: string, calendar: Calendar): number {
  const sought = Date.parse(`${date}T${time}Z`);
  const guess = calendar.startOfDate(date) + sought - Date.parse(`${date}T00:00Z`);
  const shown = Date.parse(`${calendar.dateOf(guess)}T${calendar.timeOfDay(guess)}Z`);
  // A change of the clocks since midnight.
  return guess + Math.floor(sought / MINUTE_MS) * MINUTE_MS - shown;
}

const MINUTE_MS = 60_000;

/** As `parseSince`, undefined without a text. */
export function parseTime(
  text: string | undefined,
  option: string,
  calendar: Calendar,
  now: number,
): number | undefined {
  return text === undefined ? undefined : parseSince(text, calendar, now, option);
}

/** Parses the length of time of an option, such as `24h`, as milliseconds. */
export function readDuration(text: string, option: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw usageError(`${option} ${text} is not a length of time: use 15m, 24h or 30d`);
}

/** Parses the whole number of an option such as `--limit`. Throws a usage error outside of `min` to `max`. */
export function readCount(
  text: string,
  option: string,
  { min = 0, max }: { min?: number; max?: number } = {},
): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= min && (max === undefined || count <= max)) return count;
  throw usageError(
    `${option} ${text} is not a whole number${max === undefined ? '' : ` from ${min} to ${max}`}`,
  );
}
