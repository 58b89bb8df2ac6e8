import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Calendar, createCalendar, datesOfMonth } from '../../calendar.ts';
import { formatUsd } from '../../money.ts';
import type { Reader } from '../../operations/registry.ts';
import type { TeamUsageView, UsageView, UsageViewRow } from '../../operations/schemas/usage.ts';
import {
  fieldOf,
  GROUP_CHOICES,
  GROUPINGS,
  type GroupBy,
  groupingsOf,
  parseGroupBy,
  USAGE_SOURCES,
  type UsageSource,
} from '../../store/reports/query.ts';
import { TEAM_GROUPINGS, type TeamGrouping } from '../../store/team/usage.ts';
import { bar, fitPoints, peakOf, sparkline } from '../../terminal/bars.ts';
import { csvField } from '../../terminal/csv.ts';
import { count, tokens } from '../../terminal/numbers.ts';
import { stackedBar } from '../../terminal/stacked-bar.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { wrap } from '../../terminal/text.ts';
import type { OptionsOf, SetUp } from '../command.ts';
import { type Context, note, say, sayJson, screenOf, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import { readDays } from '../input/values.ts';
import { addConditions, conditionsFrom } from '../requests/conditions.ts';
import { remarks, savedShares } from '../usage/remarks.ts';
import { withGateway } from '../with-gateway.ts';

type UsageOptions = OptionsOf<typeof addOptions>;

function addOptions(command: Command) {
  return addConditions(command)
    .addOption(
      new Option('-g, --group-by <what>', 'what to show a row for, or two: agent,model')
        .choices(GROUPINGS)
        .argParser(readGroupBy)
        .default('day'),
    )
    .option('--fold', "with -g model: one row for all hosts of a model, under its maker's name")
    .option('--team', "the whole team's usage, from its database; by member and gateway too")
    .addOption(
      new Option('--source <source>', 'what came through gw, was imported (gw import), or both')
        .choices(USAGE_SOURCES)
        .default('gw'),
    )
    .option('--from <day>', 'first day: YYYY-MM-DD, today, yesterday, 7d (default: 29 days before --to)')
    .option('--to <day>', 'last day (default: today)')
    .option('--month [month]', 'a whole month instead: YYYY-MM (default: this one)')
    .addOption(new Option('--json', 'print JSON, as GET /v1/usage returns it').conflicts('csv'))
    .option('--csv', 'print CSV')
    .addOption(new Option('--heat', 'a calendar in which days that cost more are darker').conflicts(FORMATS))
    .addOption(
      new Option('--chart', 'the cost of each day as an area, by model or by --group-by').conflicts([
        ...FORMATS,
        'heat',
      ]),
    )
    .option('--ascii', 'no block characters');
}

const FORMATS = ['json', 'csv', 'team'];

export const usage: SetUp = (command, context) =>
  addOptions(command).action(async (options) => {
    if (options.team) return runTeam(context, options);
    const { groupBy } = options;
    if (!isLocal(groupBy))
      throw usageError(`--group-by ${groupBy} is for a team: gw usage --team -g ${groupBy}`);
    await withGateway(context, async (reader) => {
      const days = daysOf(options, await reader.calendar(), context.clock.now());
      const filter = {
        ...conditionsFrom(options),
        ...days,
        group_by: groupBy,
        source: sourceOf(options),
      };
      if (options.heat || options.chart)
        return tell(context, await daysDrawn(reader, filter, screenOf(context, options), options));
      const asked = await reader.usage(filter);
      const report = options.fold ? (await import('../usage/fold-models.ts')).foldModels(asked) : asked;
      if (options.json) sayJson(context, report);
      else if (options.csv) say(context, usageCsv(report));
      else {
        // Other days are known by the hosts' names.
        const charts = options.fold ? { parts: rowsOf(report) } : await readCharts(reader, filter, report);
        const shares = report.total.saved_tokens > 0 ? await savedShares(context, options.project) : [];
        const style = { ...charts, source: filter.source, shares };
        tell(context, usageTable(report, screenOf(context, options), style));
      }
    });
  });

/** The report's days as a calendar or an area. */
async function daysDrawn(
  reader: Reader,
  filter: Parameters<Reader['usage']>[0],
  terminal: Terminal,
  { heat }: { heat?: true | undefined },
): Promise<string> {
  const { usageChart, usageHeat } = await import('../usage/charts.ts');
  const { group_by: groupBy = 'day' } = filter;
  if (heat) {
    if (groupBy !== 'day') throw usageError('--heat is by day: use it without --group-by');
    return usageHeat(await reader.usage(filter), terminal);
  }
  const [by = 'model', second] = groupingsOf(groupBy === 'day' ? 'model' : groupBy);
  if (second !== undefined || by === 'hour')
    throw usageError(`--chart is by one thing, such as -g model or -g agent, not ${groupBy}`);
  const report = await reader.usage({ ...filter, group_by: `day,${by}` });
  return usageChart(report, (row) => row[fieldOf(by)] ?? '', terminal);
}

/** Data of the charts: by model for a report by day, by day for any other. */
async function readCharts(
  reader: Reader,
  filter: Parameters<Reader['usage']>[0],
  { data }: UsageView,
): Promise<UsageCharts> {
  const { group_by: groupBy = 'day' } = filter;
  if (groupBy === 'day') {
    const byModel = await reader.usage({ ...filter, group_by: 'model' });
    return { parts: rowsOf(byModel) };
  }
  const [only = 'model', second] = groupingsOf(groupBy);
  if (second !== undefined || only === 'day') return {};
  const trends = await reader.usageTrends({ ...filter, group_by: only });
  const costs = trends.data?.map(({ key, cost_nano_usd }) => [key, cost_nano_usd] as const);
  return { parts: rowsOf({ data, group_by: groupBy }), trends: costs && new Map(costs) };
}

/** gw's own usage isn't asked for by name: older versions know no sources. */
function sourceOf({ source, status }: UsageOptions): UsageSource | undefined {
  if (source === 'gw') return undefined;
  if (status !== undefined) throw usageError('--status is for what came through gw: imported usage has none');
  return source;
}

const isLocal = (groupBy: GroupBy | TeamGrouping): groupBy is GroupBy => parseGroupBy(groupBy) !== undefined;

function readGroupBy(text: string): GroupBy | TeamGrouping {
  const groupBy = parseGroupBy(text) ?? TEAM_GROUPINGS.find((each) => each === text);
  if (groupBy) return groupBy;
  throw new InvalidArgumentError(`Allowed choices are ${GROUP_CHOICES}.`);
}

/** The inclusive days of the report: by default the last 30. */
function daysOf(
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
  return readDays({ from, to }, calendar, now);
}

/** Options of the report that need records, which a team has none of. */
const LOCAL_ONLY = ['project', 'model', 'key', 'agent', 'session', 'repo', 'label', 'status'] as const;

async function runTeam(context: Context, options: UsageOptions): Promise<void> {
  const groupBy = TEAM_GROUPINGS.find((each) => each === options.groupBy);
  if (!groupBy)
    throw usageError(
      `--group-by ${options.groupBy} does not go with --team: use ${TEAM_GROUPINGS.join(', ')}`,
    );
  const local = LOCAL_ONLY.find((name) => options[name] !== undefined);
  if (local) throw usageError(`--${local} does not go with --team: the team has sums alone. Use --group-by`);
  if (options.source !== 'gw')
    throw usageError('--source does not go with --team: gateways send what came through gw');
  await withGateway(context, async (reader) => {
    const { timezone } = await reader.team();
    const calendar = timezone === null ? await reader.calendar() : createCalendar(timezone);
    const days = daysOf(options, calendar, context.clock.now());
    const report = await reader.teamUsage({ ...days, group_by: groupBy });
    if (options.json) return sayJson(context, report);
    if (options.csv) return say(context, usageCsv(asUsage(report)));
    const parts = groupBy === 'day' ? await reader.teamUsage({ ...days, group_by: 'model' }) : report;
    tell(
      context,
      usageTable(asUsage(report), screenOf(context, options), {
        parts: rowsOf(asUsage(parts)),
        whose: `team ${report.team}`,
      }),
    );
    if (report.scope === 'own')
      note(
        context,
        "Only gateways that this one's role has joined: it may not see the others. As an admin: GW_TEAM_URL=postgres://ADMIN@HOST/DATABASE gw usage --team",
      );
  });
}

/** As a report of usage: rows of keys and gateways have a second key, the member. */
function asUsage({ group_by, ...report }: TeamUsageView): UsageView {
  const isOfTwo = group_by === 'key' || group_by === 'gateway';
  const groups = isOfTwo ? `${group_by},member` : group_by;
  // Tables and CSV name their columns by it, and have columns for the figures that there are.
  return { ...report, object: 'usage', project_id: null, group_by: groups } as unknown as UsageView;
}

/** The rows of a report as RFC 4180 CSV, with the JSON field names as the header. Without the total. */
export function usageCsv({ data, total, group_by }: UsageView): string {
  const keys = keysOf(group_by);
  const figures = Object.keys(total) as (keyof UsageView['total'])[];
  const lines = data.map((row) =>
    [...keys.map((key) => row[key] ?? ''), ...figures.map((name) => row[name])].map(csvField).join(','),
  );
  return [[...keys, ...figures].join(','), ...lines].join('\n');
}

const BAR_CELLS = 24;
const TREND_CELLS = 31;

/** Data of the charts next to the figures. */
interface UsageCharts {
  /** The rows that make up the total. */
  parts?: readonly UsageRow[];
  /** Daily costs, by row key. */
  trends?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Default: what came through gw. */
  source?: UsageSource | undefined;
  /** What compression saved of the bill, in lines. */
  shares?: readonly string[];
  /** Whose usage it is, where it is no project's. */
  whose?: string;
}

/** The first word of the title, and what to do where there is nothing. */
const SOURCES: Record<UsageSource, { what: string; nothing: readonly string[] }> = {
  gw: {
    what: 'Usage',
    nothing: ['No requests yet. To point a client at gw:', '  gw start', '  eval "$(gw env)"'],
  },
  imported: {
    what: 'Imported usage',
    nothing: ['No imported requests. To read the session logs of coding agents: gw import'],
  },
  all: {
    what: 'Usage with imports',
    nothing: ['No requests. To point a client at gw: gw env. To read the logs of coding agents: gw import'],
  },
};

const NOTHING_OF_TEAM = ['Nothing yet. Gateways of the team send their figures each minute.'];

/** The usage report: a bar of the parts of the total, a table with charts, and remarks on the totals. */
function usageTable(
  report: UsageView,
  terminal: Terminal,
  { parts = [], trends, source = 'gw', shares = [], whose }: UsageCharts = {},
): string {
  const { bold, dim } = terminal.palette;
  const { total, project_id: project, group_by: groupBy, from, to, timezone } = report;
  const rows = rowsOf(report);
  const owner = whose ?? (project === null ? 'all projects' : `project ${project}`);
  const title = wrap(
    `${SOURCES[source].what} by ${groupingsOf(groupBy).join(' and ')}, ${from} to ${to} (${timezone}), ${owner}`,
    terminal.textColumns,
  )
    .map(bold)
    .join('\n');
  if (rows.length === 0)
    return [title, '', ...(whose ? NOTHING_OF_TEAM : SOURCES[source].nothing)].join('\n');
  const sum: UsageRow = { key: 'total', ...total };
  const chart = trends ? trendColumn(trends, sum, terminal) : barColumn(rows, sum, terminal);
  const columns = columnsFor(groupBy, terminal, { chart, hasMisses: total.missed_tokens > 0 });
  const lines = table(rows, columns, { terminal, total: sum });
  const partsBar = stackedBar(partsOf(parts), terminal);
  return [
    title,
    '',
    ...partsBar,
    ...(partsBar.length > 0 ? [''] : []),
    ...lines,
    ...(whose ? [] : remarks(total, shares).map(dim)),
  ].join('\n');
}

function columnsFor(
  groupBy: UsageView['group_by'],
  { palette }: Terminal,
  { chart, hasMisses }: { chart: Column<UsageRow>; hasMisses: boolean },
): Column<UsageRow>[] {
  const [first = '', second] = groupingsOf(groupBy);
  return [
    { header: first, value: (row) => row.key || '-', shrinks: true },
    ...(second === undefined
      ? []
      : [{ header: second, value: (row: UsageRow) => row.subkey ?? '', shrinks: true }]),
    right('requests', (row) => count(row.requests)),
    right('input', (row) => tokens(row.input_tokens)),
    { ...right('cached', (row: UsageRow) => tokens(row.cached_input_tokens)), optional: true },
    ...(hasMisses ? [{ ...right('missed', missedOf), optional: true }] : []),
    right('output', (row) => tokens(row.output_tokens)),
    { header: 'cost', value: costOf, align: 'right', style: (text) => palette.bold(text) },
    chart,
  ];
}

function barColumn(rows: UsageRow[], sum: UsageRow, { palette, symbols }: Terminal): Column<UsageRow> {
  const share = shareOf(rows);
  return {
    header: '',
    value: (row, width) => (row === sum ? '' : bar(share(row), width, symbols)),
    fills: BAR_CELLS,
    style: (text) => palette.accent(text),
  };
}

/** The daily costs of each row. Each has its own scale, so that small costs show a trend too. */
function trendColumn(
  trends: ReadonlyMap<string, readonly number[]>,
  sum: UsageRow,
  { palette, symbols }: Terminal,
): Column<UsageRow> {
  return {
    header: 'days',
    value(row, width) {
      const points = row === sum ? undefined : trends.get(row.key);
      return points && peakOf(points) > 0 ? sparkline(fitPoints(points, width), symbols) : '';
    },
    fills: TREND_CELLS,
    style: (text) => palette.accent(text),
  };
}

/** Shares of the cost, or of the requests if the total cost is zero. */
function partsOf(rows: readonly UsageRow[]): { name: string; value: number }[] {
  const costs = rows.some((row) => row.cost_nano_usd > 0);
  return rows.map((row) => ({ name: row.key || '-', value: costs ? row.cost_nano_usd : row.requests }));
}

/** The length of a row's bar: its cost, or its requests if the total cost is zero. */
function shareOf(rows: UsageRow[]): (row: UsageRow) => number {
  const most = Math.max(...rows.map((row) => row.cost_nano_usd));
  if (most > 0) return (row) => row.cost_nano_usd / most;
  const mostRequests = Math.max(...rows.map((row) => row.requests));
  return (row) => row.requests / mostRequests;
}

const missedOf = ({ missed_tokens: missed, missed_nano_usd: cost }: Figures): string =>
  missed === 0 ? '-' : formatUsd(cost);

/** An unknown price is not $0: `+?` after an amount stands for requests without a price. */
function costOf({ cost_nano_usd: cost, unpriced_requests: unpriced }: Figures): string {
  if (unpriced === 0) return formatUsd(cost);
  return cost === 0 ? 'unpriced' : `${formatUsd(cost)}+?`;
}

type Figures = UsageView['total'];

/** A row of a usage report with its key: the day, model, project, program, repository, session, agent or key. */
interface UsageRow extends Figures {
  key: string;
  /** The second key of a report by two things. */
  subkey?: string;
}

/** The fields of a row that have its keys: one or two. */
const keysOf = (groupBy: UsageView['group_by']) => groupingsOf(groupBy).map(fieldOf);

function rowsOf({ data, group_by }: Pick<UsageView, 'data' | 'group_by'>): UsageRow[] {
  const [first = 'day', second] = keysOf(group_by);
  const fieldOf = (row: UsageViewRow, name: typeof first) => row[name] ?? '';
  return data.map((row) => ({
    ...row,
    key: fieldOf(row, first),
    ...(second === undefined ? {} : { subkey: fieldOf(row, second) }),
  }));
}
