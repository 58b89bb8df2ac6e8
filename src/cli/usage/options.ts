import { addDays, type Calendar, datesOfMonth } from '../../calendar.ts';
import type { GroupBy, UsageSource } from '../../store/reports/query.ts';
import type { TeamGrouping } from '../../store/team/usage-query.ts';
import { usageError } from '../exit.ts';
import { parseDay } from '../input/dates.ts';
import type { ConditionOptions } from '../requests/conditions.ts';

export interface UsageOptions extends ConditionOptions {
  groupBy: GroupBy | TeamGrouping;
  team?: true;
  source?: UsageSource;
  from?: string;
  to?: string;
  month?: string | true;
  json?: boolean;
  csv?: boolean;
  ascii?: boolean;
}

const DEFAULT_DAYS = 30;

/** The inclusive days of the report: by default the last 30. */
export function daysOf(
  { from, to, month }: Pick<UsageOptions, 'from' | 'to' | 'month'>,
  calendar: Calendar,
  now: number,
): { from: string; to: string } {
  if (month !== undefined) {
    if (from !== undefined || to !== undefined)
      throw usageError('--month is for a whole month: use it without --from and --to');
    const dates = datesOfMonth(month === true ? calendar.dateOf(now).slice(0, 7) : month);
    if (dates) return dates;
    throw usageError(`--month ${month} is not a month: use YYYY-MM, such as 2026-01`);
  }
  const last = to === undefined ? calendar.dateOf(now) : parseDay(to, '--to', calendar, now);
  const first =
    from === undefined ? addDays(last, 1 - DEFAULT_DAYS) : parseDay(from, '--from', calendar, now);
  if (first > last) throw usageError(`--from ${first} is after --to ${last}`);
  return { from: first, to: last };
}
