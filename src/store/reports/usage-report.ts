import { addDays, type Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import { FIGURES_OF_RECORD } from '../archive/rollups.ts';
import {
  COUNTERS,
  FIGURES,
  prepareSummedUntil,
  SUM_KINDS,
  type UsageFigures,
} from '../archive/usage-sums.ts';
import { columnName } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { labelValueSql, MODEL_NAME } from '../database/recorded-names.ts';
import { IS_FROM_GW } from '../ledger/record.ts';
import { conditionsOf } from '../requests/find-requests.ts';
import {
  type Grouping,
  groupingsOf,
  isLabel,
  isTime,
  type LabelGrouping,
  TIMES,
  type Time,
  type UsageQuery,
} from './query.ts';

/** A row of a report. `requests` includes blocked and failed ones. */
export interface UsageRow extends UsageFigures {
  /** The day (YYYY-MM-DD), `provider/model`, name of a project, program, agent or key, path of a repository, or session. */
  key: string;
  /** The second key of a report by two things. */
  subkey?: string;
}

/** SQL for the figures, summed over rows `u`. */
const SUMS = FIGURES.map((name) => `sum(u.${columnName(name)}) AS ${name}`).join(', ');

/** Adds figures to a total. */
function addFigures(total: UsageFigures, figures: UsageFigures): void {
  for (const name of FIGURES) total[name] += figures[name];
}

function sumFigures(rows: readonly UsageFigures[]): UsageFigures {
  const total = Object.fromEntries(FIGURES.map((name) => [name, 0])) as unknown as UsageFigures;
  for (const row of rows) addFigures(total, row);
  return total;
}

/** Highest cost first. */
function byCost(a: UsageRow, b: UsageRow): number {
  return (
    b.costNanoUsd - a.costNanoUsd ||
    b.requests - a.requests ||
    (a.key < b.key ? -1 : Number(a.key > b.key)) ||
    ((a.subkey ?? '') < (b.subkey ?? '') ? -1 : 1)
  );
}

/** Key of usage whose program, repository, session, agent or key is unknown. */
const UNKNOWN = 'unknown';

export interface UsageReport {
  rows: UsageRow[];
  total: UsageFigures;
}

/**
 * Usage over a span of days, by day in order, or by a name with the highest cost first. Where nothing but a project is
 * asked for, summed hours are read from the sums and later ones from the rollups and the journal: a report over years
 * reads a few thousand rows, however many requests there were.
 */
export async function usageReport(db: Db, calendar: Calendar, query: UsageQuery): Promise<UsageReport> {
  const { from: first, to: last, groupBy, ...conditions } = query;
  const { projectId, ...filter } = conditions;
  const from = calendar.startOfDate(first);
  const to = calendar.startOfDate(addDays(last, 1));
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  // One transaction, so that an hour that is summed meanwhile is counted once.
  const readRows = db.transaction(() => {
    if (!isFiltered && groupBy === 'day') return usageByDay(db, calendar, { from, to, projectId });
    if (!isFiltered && (groupBy === 'model' || groupBy === 'project'))
      return usageByName(db, { from, to, projectId, groupBy });
    return usageByGroup(db, calendar, { from, to, groups: groupingsOf(groupBy), conditions });
  });
  const rows = readRows();
  return { rows, total: sumFigures(rows) };
}

/** A small chart is not worth reading more buckets. */
const MAX_DAYS = 92;

/** Spend on each day of the span, by the report row's key; undefined for spans of more than MAX_DAYS. */
export async function usageTrends(
  db: Db,
  calendar: Calendar,
  { from, to, groupBy, ...conditions }: UsageQuery & { groupBy: Exclude<Grouping, 'day'> },
): Promise<Map<string, NanoUsd[]> | undefined> {
  const days: string[] = [];
  for (let day = from; day <= to && days.length <= MAX_DAYS; day = addDays(day, 1)) days.push(day);
  if (days.length > MAX_DAYS) return undefined;
  const span = { from: calendar.startOfDate(from), to: calendar.startOfDate(addDays(to, 1)) };
  const places = new Map(days.map((day, i) => [day, i]));
  const trends = new Map<string, NanoUsd[]>();
  for (const row of usageByGroup(db, calendar, { ...span, groups: [groupBy, 'day'], conditions })) {
    if (row.key === UNKNOWN) continue;
    const trend = trends.get(row.key) ?? days.map(() => 0);
    const place = places.get(row.subkey ?? '');
    if (place !== undefined) trend[place] = row.costNanoUsd;
    trends.set(row.key, trend);
  }
  return trends;
}

/** The columns that identify what a row is of, and the SQL that finds its name by them. */
interface GroupSource {
  columns: readonly string[];
  select: string;
}

function groupSource(grouping: Exclude<Grouping, Time>): GroupSource {
  if (!isLabel(grouping)) return GROUPS[grouping];
  const select = `SELECT ${labelValueSql(grouping.slice('label:'.length))} FROM label_sets WHERE id = ?`;
  return { columns: ['labels_id'], select };
}

const GROUPS: Record<Exclude<Grouping, Time | LabelGrouping>, GroupSource> = {
  model: {
    columns: ['provider_id', 'model_id'],
    select: `SELECT ${MODEL_NAME} FROM names v, names m WHERE v.id = ? AND m.id = ?`,
  },
  project: { columns: ['project_id'], select: 'SELECT name FROM projects WHERE id = ?' },
  process: { columns: ['process_id'], select: 'SELECT name FROM names WHERE id = ?' },
  repo: { columns: ['repo_id'], select: 'SELECT name FROM names WHERE id = ?' },
  agent: { columns: ['agent_id'], select: 'SELECT name FROM names WHERE id = ?' },
  session: { columns: ['session_id'], select: 'SELECT external_id FROM sessions WHERE id = ?' },
  key: { columns: ['key_id'], select: 'SELECT coalesce(label, CAST(id AS TEXT)) FROM keys WHERE id = ?' },
};

interface GroupedSpan {
  /** UTC milliseconds. */
  from: number;
  to: number;
  groups: readonly Grouping[];
  conditions: Omit<UsageQuery, 'from' | 'to' | 'groupBy'>;
}

/** Usage by one or two things of the requests that match. Reads the rollups, or the records where a status matters. */
function usageByGroup(db: Db, calendar: Calendar, span: GroupedSpan): UsageRow[] {
  const columns = new Set(
    span.groups.flatMap((group) => (isTime(group) ? ['bucket'] : groupSource(group).columns)),
  );
  const list = [...columns].map((column) => `u.${column}`).join(', ');
  const groups = db
    .prepare<[], Group>(`SELECT ${list}, ${SUMS} FROM (${rowsOf(db, span)}) u GROUP BY ${list}`)
    .all();
  const [nameOf, subnameOf] = span.groups.map((group) => namer(db, calendar, group));
  const rows = new Map<string, UsageRow>();
  for (const group of groups) {
    const key = nameOf?.(group) ?? UNKNOWN;
    const subkey = subnameOf?.(group);
    const id = JSON.stringify([key, subkey]);
    const row = rows.get(id);
    if (row) addFigures(row, group);
    else rows.set(id, { key, ...(subkey === undefined ? {} : { subkey }), ...figuresOf(group, columns) });
  }
  return sorted(
    [...rows.values()].filter(({ requests }) => requests > 0),
    span.groups,
  );
}

type Group = UsageFigures & Record<string, number>;

function figuresOf(group: Group, columns: ReadonlySet<string>): UsageFigures {
  const figures = { ...group };
  for (const column of columns) delete figures[column];
  return figures;
}

/** The name of what a group is of. */
function namer(db: Db, calendar: Calendar, grouping: Grouping): (group: Group) => string {
  if (isTime(grouping)) return ({ bucket = 0 }) => TIMES[grouping](calendar, bucket);
  const { columns, select } = groupSource(grouping);
  const statement = db.prepare<number[], string>(select).pluck();
  const names = new Map<string, string>();
  return (group) => {
    const ids = columns.map((column) => group[column] ?? 0);
    const id = ids.join();
    const name = names.get(id) ?? (statement.get(...ids) || (grouping === 'model' ? '' : UNKNOWN));
    names.set(id, name);
    return name;
  };
}

/** SQL for the rows of a span that match. */
function rowsOf(db: Db, { from, to, conditions: { source, ...conditions } }: GroupedSpan): string {
  const counted = source === 'all' ? undefined : (source ?? 'gw');
  const where = (filter: Parameters<typeof conditionsOf>[1]) =>
    ['TRUE', ...conditionsOf(db, { ...filter, source: counted })].join(' AND ');
  const { status, outcomes, isFallback } = conditions;
  if (status === undefined && outcomes === undefined && !isFallback)
    return `SELECT * FROM usage WHERE ${where(conditions)} AND bucket >= ${from} AND bucket < ${to}`;
  const matching = where({ ...conditions, since: from, until: to });
  return `SELECT ${FIGURES_OF_RECORD} FROM requests WHERE ${matching}
    UNION ALL SELECT ${FIGURES_OF_RECORD} FROM journal WHERE state > 0 AND ${matching}`;
}

/** Times in order, anything else by cost; of pairs, the first thing's rows stay together. */
function sorted(rows: UsageRow[], [first, second]: readonly Grouping[]): UsageRow[] {
  const costs = new Map<string, number>();
  for (const { key, costNanoUsd } of rows) costs.set(key, (costs.get(key) ?? 0) + costNanoUsd);
  const ascending = (a: string, b: string) => (a < b ? -1 : Number(a > b));
  const byFirst = (a: UsageRow, b: UsageRow) =>
    (isTime(first) || second === undefined ? 0 : (costs.get(b.key) ?? 0) - (costs.get(a.key) ?? 0)) ||
    (isTime(first) || second !== undefined ? ascending(a.key, b.key) : 0);
  const bySecond = (a: UsageRow, b: UsageRow) =>
    isTime(second) ? ascending(a.subkey ?? '', b.subkey ?? '') : byCost(a, b);
  return rows.sort((a, b) => byFirst(a, b) || bySecond(a, b));
}

const DAY_MS = 86_400_000;
const KEY = 'project_id, provider_id, model_id';
const COLUMNS = `${KEY}, ${COUNTERS.join(', ')}`;
const TOTALS = `${KEY}, ${COUNTERS.map((name) => `sum(${name}) AS ${name}`).join(', ')}`;

/** The SQL of a row's name, and the columns that identify a row. */
const NAMES = {
  project: { name: 'p.name', joins: 'JOIN projects p ON p.id = u.project_id', key: 'project_id' },
  model: {
    name: MODEL_NAME,
    joins: 'JOIN names v ON v.id = u.provider_id JOIN names m ON m.id = u.model_id',
    key: 'provider_id, model_id',
  },
};

/**
 * Usage of each model or project, highest cost first. Whole UTC days come from the sums, the rest
 * from the rollups and the journal.
 */
function usageByName(db: Db, span: UsageSpan & { groupBy: 'model' | 'project' }): UsageRow[] {
  const { from, to, projectId = null, groupBy } = span;
  const summedUntil = prepareSummedUntil(db).get() ?? 0;
  const firstDay = Math.min(to, Math.ceil(from / DAY_MS) * DAY_MS);
  const lastDay = Math.max(firstDay, Math.floor(Math.min(to, summedUntil) / DAY_MS) * DAY_MS);
  const { name, joins, key } = NAMES[groupBy];
  const kindOfModels = projectId === null ? SUM_KINDS.dayOfModel : SUM_KINDS.dayOfProjectAndModel;
  // With the ids of projects, `start` is a range of the primary key.
  const allProjects = groupBy === 'project' ? 'SELECT id FROM projects' : '0';
  const usage = (view: string, start: string, end: string) =>
    `SELECT ${COLUMNS} FROM ${view} WHERE ${IS_FROM_GW} AND bucket >= ${start} AND bucket < ${end}
     AND (@projectId IS NULL OR project_id = @projectId)`;
  const rows = db.prepare<unknown[], UsageRow>(`SELECT ${name} AS key, ${SUMS} FROM (SELECT ${TOTALS} FROM (
      SELECT ${COLUMNS} FROM usage_sums WHERE kind = @kind AND project_id IN (${projectId === null ? allProjects : '@projectId'})
        AND start >= @firstDay AND start < @lastDay
      UNION ALL ${usage('hourly_usage', '@from', '@firstDay')}
      UNION ALL ${usage('hourly_usage', '@lastDay', '@to')}
      UNION ALL ${usage('journaled_usage', '@from', '@to')}
    ) GROUP BY ${key}) u ${joins} GROUP BY 1 HAVING sum(u.requests) > 0`);
  const kind = groupBy === 'project' ? SUM_KINDS.dayOfProject : kindOfModels;
  return rows.all({ kind, from, firstDay, lastDay, to, projectId }).sort(byCost);
}

/** A span between two starts of local days, in UTC milliseconds; of one project, or of all. */
interface UsageSpan {
  from: number;
  to: number;
  projectId: number | undefined;
}

/** Usage of each local day that has any, in order. Sums cover the past, the rollups and the journal the rest. */
function usageByDay(db: Db, calendar: Calendar, span: UsageSpan): UsageRow[] {
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
  const kind = projectId === undefined ? SUM_KINDS.bucket : SUM_KINDS.bucketOfProject;
  const key = [kind, projectId ?? 0] as const;
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
      .prepare<unknown[], UsageFigures & { bucket: number }>(`
        SELECT bucket, ${SUMS} FROM ${view} u WHERE bucket >= @since AND bucket < @to AND ${IS_FROM_GW}
        AND (@projectId IS NULL OR project_id = @projectId) GROUP BY bucket ORDER BY bucket`)
      .all({ since, to, projectId });
  const rows = [...read('hourly_usage', Math.max(from, summedUntil)), ...read('journaled_usage', from)];
  for (const { bucket, ...figures } of rows) count(calendar.dateOf(bucket), figures);
}
