import { addDays, type Calendar } from '../../calendar.ts';
import { prepareSummedUntil, SUM_KINDS } from '../archive/usage-sums.ts';
import type { Db } from '../database/open.ts';
import { addFigures, FROM_GW, SUMS, type UsageFigures, type UsageRow } from './figures.ts';

/** A span between two starts of local days, in UTC milliseconds; of one project, or of all. */
export interface UsageSpan {
  from: number;
  to: number;
  projectId: number | undefined;
}

/** Usage of each local day that has any, in order. Sums cover the past, the rollups and the journal the rest. */
export function usageByDay(db: Db, calendar: Calendar, span: UsageSpan): UsageRow[] {
  const summedUntil = prepareSummedUntil(db).get() ?? 0;
  const days = new Map<string, UsageRow>();
  const count = (key: string, figures: UsageFigures) => {
    const day = days.get(key);
    if (day) addFigures(day, figures);
    else days.set(key, { key, ...figures });
  };
  readSummed(db, calendar, { ...span, to: Math.min(span.to, summedUntil) }, count);
  readOpen(db, calendar, { span, summedUntil }, count);
  return [...days.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

type Count = (key: string, figures: UsageFigures) => void;

function readSummed(db: Db, calendar: Calendar, { from, to, projectId }: UsageSpan, count: Count): void {
  const key = [
    projectId === undefined ? SUM_KINDS.bucket : SUM_KINDS.bucketOfProject,
    projectId ?? 0,
  ] as const;
  const select = (what: string) =>
    `SELECT ${what} FROM usage_sums u WHERE kind = ? AND project_id = ? AND start >= ? AND start < ?`;
  // Skips the days before the first usage and after the last.
  const find = (what: string) =>
    db
      .prepare<number[], number | null>(select(what))
      .pluck()
      .get(...key, from, to);
  const first = find('min(start)');
  const last = find('max(start)') ?? from;
  if (first === undefined || first === null) return;
  const selectDay = db.prepare<number[], UsageFigures>(select(SUMS));
  for (let date = calendar.dateOf(first); ; date = addDays(date, 1)) {
    const start = calendar.startOfDate(date);
    if (start > last) return;
    const end = Math.min(calendar.startOfDate(addDays(date, 1)), to);
    const figures = selectDay.get(...key, start, end);
    if (figures?.requests) count(date, figures);
  }
}

function readOpen(
  db: Db,
  calendar: Calendar,
  { span, summedUntil }: { span: UsageSpan; summedUntil: number },
  count: Count,
): void {
  const { from, to, projectId = null } = span;
  const read = (view: string, since: number) =>
    db
      .prepare<unknown[], UsageFigures & { bucket: number }>(
        `SELECT bucket, ${SUMS} FROM ${view} u WHERE bucket >= @since AND bucket < @to AND ${FROM_GW}
         AND (@projectId IS NULL OR project_id = @projectId) GROUP BY bucket ORDER BY bucket`,
      )
      .all({ since, to, projectId });
  const rows = [...read('hourly_usage', Math.max(from, summedUntil)), ...read('journaled_usage', from)];
  for (const { bucket, ...figures } of rows) count(calendar.dateOf(bucket), figures);
}
