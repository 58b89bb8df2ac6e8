import { addDays, type Calendar } from '../../calendar.ts';
import type { NanoUsd } from '../../money.ts';
import { FIGURES, type UsageFigures } from '../archive/usage-sums.ts';
import { columnName } from '../database/columns.ts';
import type { Db } from '../database/open.ts';
import { labelValueSql, MODEL_NAME } from '../database/sql-parts.ts';
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
import { usageParts } from './usage-parts.ts';

/** A row of a report. `requests` includes blocked and failed ones. */
export interface UsageRow extends UsageFigures {
  /** The day (YYYY-MM-DD), `provider/model`, name of a project, program, agent or key, path of a repository, or session. */
  key: string;
  /** The second key of a report by two things. */
  subkey?: string;
}

/** SQL for the figures, summed over rows `u`. */
const SUMS = FIGURES.map((name) => `sum(u.${columnName(name)}) AS ${name}`).join(', ');

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

/** Usage over a span of days, by times in order, or by names with the highest cost first. */
export async function usageReport(db: Db, calendar: Calendar, query: UsageQuery): Promise<UsageReport> {
  const { groupBy, ...span } = query;
  const rows = usageByGroup(db, calendar, { ...span, groups: groupingsOf(groupBy) });
  return { rows, total: sumFigures(rows) };
}

/** A small chart is not worth reading more buckets. */
const MAX_DAYS = 92;

/** Spend on each day of the span, by the report row's key; undefined for spans of more than MAX_DAYS. */
export async function usageTrends(
  db: Db,
  calendar: Calendar,
  { groupBy, ...query }: UsageQuery & { groupBy: Exclude<Grouping, 'day'> },
): Promise<Map<string, NanoUsd[]> | undefined> {
  const days: string[] = [];
  for (let day = query.from; day <= query.to && days.length <= MAX_DAYS; day = addDays(day, 1))
    days.push(day);
  if (days.length > MAX_DAYS) return undefined;
  const places = new Map(days.map((day, i) => [day, i]));
  const trends = new Map<string, NanoUsd[]>();
  for (const row of usageByGroup(db, calendar, { ...query, groups: [groupBy, 'day'] })) {
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

/** Usage by one or two things of the requests that match. */
function usageByGroup(
  db: Db,
  calendar: Calendar,
  { groups, ...query }: Omit<UsageQuery, 'groupBy'> & { groups: readonly Grouping[] },
): UsageRow[] {
  const columns = new Set(
    groups.flatMap((group) => (isTime(group) ? ['bucket'] : groupSource(group).columns)),
  );
  const list = [...columns].map((column) => `u.${column}`).join(', ');
  // One transaction, so that an hour that is summed meanwhile is counted once.
  const read = db.transaction(() => {
    const { sql, spans } = usageParts(db, calendar, { ...query, columns, isByDay: groups.includes('day') });
    return db
      .prepare<string[], Group>(`SELECT ${list}, ${SUMS} FROM (${sql}) u GROUP BY ${list}`)
      .all(...spans);
  });
  const [nameOf, subnameOf] = groups.map((group) => namer(db, calendar, group));
  const rows = new Map<string, UsageRow>();
  for (const group of read()) {
    const key = nameOf?.(group) ?? UNKNOWN;
    const subkey = subnameOf?.(group);
    const id = JSON.stringify([key, subkey]);
    const row = rows.get(id);
    if (row) addFigures(row, group);
    else rows.set(id, { key, ...(subkey === undefined ? {} : { subkey }), ...figuresOf(group, columns) });
  }
  return sorted(
    [...rows.values()].filter(({ requests }) => requests > 0),
    groups,
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
