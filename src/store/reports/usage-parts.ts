import { addDays, type Calendar, type Span } from '../../calendar.ts';
import { FIGURES_OF_RECORD } from '../archive/rollups.ts';
import {
  COUNTERS,
  prepareSummedUntil,
  SUM_KINDS,
  SUMMED_BY,
  type SumKind,
  type SummedBy,
} from '../archive/usage-sums.ts';
import type { Db } from '../database/open.ts';
import { conditionsOf } from '../requests/find-requests.ts';
import type { UsageQuery } from './query.ts';

interface PartsQuery extends Omit<UsageQuery, 'groupBy'> {
  /** What the rows have besides the figures. */
  columns: ReadonlySet<string>;
  isByDay: boolean;
}

/**
 * The rows that a report adds up. Where it asks for nothing that the sums lack, summed hours are read from them, and only
 * later ones from the rollups and the journal: a report over years reads a few thousand rows, however many requests there
 * were. Where a status matters, the records are read. In reports by day, `bucket` is the start of the local day.
 */
export function usageParts(db: Db, calendar: Calendar, query: PartsQuery) {
  const { columns, isByDay, source, from, to, ...conditions } = query;
  const counted = source === 'all' ? undefined : (source ?? 'gw');
  const span = { start: calendar.startOfDate(from), end: calendar.startOfDate(addDays(to, 1)) };
  const { status, outcomes, isFallback } = conditions;
  if (status !== undefined || outcomes !== undefined || isFallback) {
    const matching = whereOf(db, { ...conditions, source: counted, since: span.start, until: span.end });
    const sql = `SELECT ${FIGURES_OF_RECORD} FROM requests WHERE ${matching}
      UNION ALL SELECT ${FIGURES_OF_RECORD} FROM journal WHERE state > 0 AND ${matching}`;
    return { sql, spans: [] };
  }
  const spans = isByDay ? daysOf(db, calendar, span) : [span];
  const where = whereOf(db, { ...conditions, source: counted });
  const { summed, open } = splitSummed(db, spans, query);
  const parts = [
    ...summed,
    { rows: `hourly_usage u WHERE ${where}`, time: 'u.bucket', spans: open },
    { rows: `journaled_usage u WHERE ${where}`, time: 'u.bucket', spans },
  ];
  const sqlOf = ({ rows, time }: Part) => {
    const bucket = `${isByDay ? 't.start' : time} AS bucket`;
    const names = [...columns, ...COUNTERS].map((name) => (name === 'bucket' ? bucket : `u.${name}`));
    return `SELECT ${names.join(', ')}
      FROM (SELECT value ->> 0 AS start, value ->> 1 AS end FROM json_each(?)) t
      CROSS JOIN ${rows} AND ${time} >= t.start AND ${time} < t.end`;
  };
  return {
    sql: parts.map(sqlOf).join(' UNION ALL '),
    spans: parts.map((part) => JSON.stringify(part.spans.map(({ start, end }) => [start, end]))),
  };
}

/** Rows of a table within spans of time, which begin in different rows. */
interface Part {
  /** SQL after FROM, as `u`. */
  rows: string;
  time: string;
  spans: readonly Span[];
}

const whereOf = (db: Db, filter: Parameters<typeof conditionsOf>[1]) =>
  ['TRUE', ...conditionsOf(db, filter)].join(' AND ');

/** The local days of a span, from the first with usage to the last. */
function daysOf(db: Db, calendar: Calendar, { start, end }: Span): Span[] {
  const ends = db.prepare<[], Record<'first' | 'last', number | null>>(`
    SELECT min(first) AS first, max(last) AS last FROM (
      SELECT (SELECT min(bucket) FROM usage_hours) AS first, (SELECT max(bucket) FROM usage_hours) AS last
      UNION ALL SELECT min(at), max(at) FROM journal)`);
  const { first = null, last = null } = ends.get() ?? {};
  const days: Span[] = [];
  if (first === null || last === null) return days;
  for (let date = calendar.dateOf(Math.max(start, first)); ; date = addDays(date, 1)) {
    const day = { start: calendar.startOfDate(date), end: calendar.startOfDate(addDays(date, 1)) };
    if (day.start > last || day.start >= end) return days;
    days.push(day);
  }
}

const DAY_MS = 86_400_000;

/** The part of the spans that is read from the sums: whole UTC days where times don't matter, and buckets. */
function splitSummed(
  db: Db,
  spans: readonly Span[],
  query: PartsQuery,
): { summed: Part[]; open: readonly Span[] } {
  const kindOf = kindsFor(query);
  const [days, buckets] = [kindOf('day'), kindOf('bucket')];
  const until = days || buckets ? (prepareSummedUntil(db).get() ?? 0) : 0;
  const summed: Part[] = [];
  let rest = spans;
  const sum = (sums: SumKind, whole: Span) => {
    const { projectId, model, agent } = query;
    const projects = sums.by.includes('project')
      ? 'project_id IN (SELECT id FROM projects)'
      : 'project_id = 0';
    const rows = `usage_sums u WHERE kind = ${sums.kind} AND ${projects} AND ${whereOf(db, { projectId, model, agent })}`;
    summed.push({ rows, time: 'u.start', spans: clipped(rest, whole) });
    rest = [
      ...clipped(rest, { start: 0, end: whole.start }),
      ...clipped(rest, { start: whole.end, end: Infinity }),
    ];
  };
  const [span] = spans;
  if (days && span) {
    const start = Math.ceil(span.start / DAY_MS) * DAY_MS;
    sum(days, { start, end: Math.max(start, Math.floor(Math.min(span.end, until) / DAY_MS) * DAY_MS) });
  }
  if (buckets) sum(buckets, { start: 0, end: until });
  return { summed, open: rest };
}

function clipped(spans: readonly Span[], { start, end }: Span): Span[] {
  return spans
    .map((span) => ({ start: Math.max(span.start, start), end: Math.min(span.end, end) }))
    .filter((span) => span.start < span.end);
}

/** Finds the kind of sums, by its time, that has all that a report asks for. */
function kindsFor({ columns, isByDay, source, from, to, ...conditions }: PartsQuery) {
  const { projectId, model, agent, ...others } = conditions;
  const isGiven = (value: unknown) => value !== undefined;
  const wanted = new Set(columns);
  for (const [by, value] of Object.entries({ project: projectId, model, agent }))
    if (isGiven(value)) for (const column of SUMMED_BY[by as SummedBy]) wanted.add(column);
  const isByTime = wanted.delete('bucket');
  const hasProject = wanted.has('project_id');
  return (time: SumKind['time']): SumKind | undefined => {
    if (isGiven(source) || Object.values(others).some(isGiven) || (isByTime && time === 'day'))
      return undefined;
    return SUM_KINDS.find((each) => {
      const own: readonly string[] = each.by.flatMap((by) => SUMMED_BY[by]);
      const hasAll = [...wanted].every((column) => own.includes(column));
      return each.time === time && hasAll && each.by.includes('project') === hasProject;
    });
  };
}
