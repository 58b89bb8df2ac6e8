import type { Calendar } from '../../calendar.ts';
import { FIGURES_OF_RECORD } from '../archive/rollups.ts';
import type { Db } from '../database/open.ts';
import { conditionsOf } from '../requests/find-requests.ts';
import { MODEL_NAME } from './by-name.ts';
import { addFigures, byCost, SUMS, type UsageFigures, type UsageRow } from './figures.ts';
import type { Grouping, UsageQuery } from './query.ts';

/** What usage is by whose program, repository, session, agent or key isn't known. */
export const UNKNOWN = 'unknown';

/** The columns that identify what a row is of, and the SQL that finds its name by them. */
const GROUPS: Record<Exclude<Grouping, 'day'>, { columns: readonly string[]; select: string }> = {
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

export interface GroupedSpan {
  /** UTC milliseconds. */
  from: number;
  to: number;
  groups: readonly Grouping[];
  conditions: Omit<UsageQuery, 'from' | 'to' | 'groupBy'>;
}

/** Usage by one or two things of the requests that match. Reads the rollups, or the records where a status matters. */
export function usageByGroup(db: Db, calendar: Calendar, span: GroupedSpan): UsageRow[] {
  const columns = new Set(
    span.groups.flatMap((group) => (group === 'day' ? ['bucket'] : GROUPS[group].columns)),
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
  if (grouping === 'day') return ({ bucket = 0 }) => calendar.dateOf(bucket);
  const { columns, select } = GROUPS[grouping];
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
  if (conditions.status === undefined && conditions.outcomes === undefined)
    return `SELECT * FROM usage WHERE ${where(conditions)} AND bucket >= ${from} AND bucket < ${to}`;
  const matching = where({ ...conditions, since: from, until: to });
  return `SELECT ${FIGURES_OF_RECORD} FROM requests WHERE ${matching}
    UNION ALL SELECT ${FIGURES_OF_RECORD} FROM journal WHERE state > 0 AND ${matching}`;
}

/** Days in order, anything else by cost; of pairs, the first thing's rows stay together. */
function sorted(rows: UsageRow[], [first, second]: readonly Grouping[]): UsageRow[] {
  const costs = new Map<string, number>();
  for (const { key, costNanoUsd } of rows) costs.set(key, (costs.get(key) ?? 0) + costNanoUsd);
  const ascending = (a: string, b: string) => (a < b ? -1 : Number(a > b));
  const byFirst = (a: UsageRow, b: UsageRow) =>
    (first === 'day' || second === undefined ? 0 : (costs.get(b.key) ?? 0) - (costs.get(a.key) ?? 0)) ||
    (first === 'day' || second !== undefined ? ascending(a.key, b.key) : 0);
  const bySecond = (a: UsageRow, b: UsageRow) =>
    second === 'day' ? ascending(a.subkey ?? '', b.subkey ?? '') : byCost(a, b);
  return rows.sort((a, b) => byFirst(a, b) || bySecond(a, b));
}
