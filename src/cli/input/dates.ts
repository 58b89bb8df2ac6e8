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

/** Parses a moment in the past, as UTC milliseconds: an age (`90s`, `1h`, `7d`), a day or an ISO time. */
export function parseSince(text: string, calendar: Calendar, now: number, option = '--since'): number {
  const ago = parseDuration(text);
  if (ago !== undefined) return now - ago;
  if (text === 'today' || text === 'yesterday' || isDate(text)) {
    return calendar.startOfDate(parseDay(text, option, calendar, now));
  }
  const time = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw usageError(`${option} ${text} is not a time: use 15m, 1h, 7d, today, YYYY-MM-DD or an ISO time`);
}

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
