import { addDays, datesOfMonth, isDate } from '../calendar.ts';
import { badRequest } from '../errors.ts';

const DEFAULT_DAYS = 30;

/** The days of a report as a query gives them: `YYYY-MM-DD` or `7d`, or a month `YYYY-MM`. */
export interface SpanQuery {
  from?: string | undefined;
  to?: string | undefined;
  month?: string | undefined;
}

/** The inclusive days of a report: by default the last 30. Throws GwError 400. */
export function usageSpan({ from, to, month }: SpanQuery, today: string): { from: string; to: string } {
  if (month) {
    if (from || to) throw badRequest('"month" is for a whole month: use it without "from" and "to"', 'month');
    const dates = datesOfMonth(month);
    if (dates) return dates;
    throw badRequest(`"month" is "${month}": use a month of the form YYYY-MM`, 'month');
  }
  const last = to ? dayOf(to, 'to', today) : today;
  const first = from ? dayOf(from, 'from', today) : addDays(last, 1 - DEFAULT_DAYS);
  if (first > last) throw badRequest(`"from" (${first}) is after "to" (${last})`, 'from');
  return { from: first, to: last };
}

function dayOf(text: string, name: string, today: string): string {
  const ago = /^(\d{1,5})d$/.exec(text)?.[1];
  if (ago !== undefined) return addDays(today, -Number(ago));
  if (isDate(text)) return text;
  throw badRequest(`"${name}" is "${text}": use a date of the form YYYY-MM-DD, or 7d`, name);
}
