import { InvalidArgumentError, Option } from 'commander';
import { addDays, type Calendar, datesOfMonth } from '../../calendar.ts';
import type { Reader, UsageFilter } from '../../reading/reader.ts';
import type { UsageView } from '../../reading/schemas.ts';
import {
  GROUP_BYS,
  GROUP_CHOICES,
  GROUPINGS,
  type GroupBy,
  groupingsOf,
  USAGE_SOURCES,
  type UsageSource,
} from '../../store/reports/query.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import { parseDay } from '../input/dates.ts';
import { addConditions, type ConditionOptions, conditionsFrom } from '../requests/conditions.ts';
import { usageCsv } from '../usage/csv.ts';
import { rowsOf } from '../usage/rows.ts';
import { type UsageCharts, usageTable } from '../usage/table.ts';
import { withReader } from '../with-gateway.ts';

interface Options extends ConditionOptions {
  groupBy: GroupBy;
  source?: UsageSource;
  from?: string;
  to?: string;
  month?: string | true;
  json?: boolean;
  csv?: boolean;
  ascii?: boolean;
}

const DEFAULT_DAYS = 30;

export const usage: SetUp = (command, context) => {
  addConditions(command)
    .addOption(
      new Option('-g, --group-by <what>', 'what to show a row for, or two: agent,model')
        .choices(GROUPINGS)
        .argParser(readGroupBy)
        .default('day'),
    )
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
    .option('--ascii', 'no block characters')
    .action((options: Options) => run(context, options));
};

async function run(context: Context, options: Options): Promise<void> {
  await withReader(context, async (reader) => {
    const days = daysOf(options, await reader.calendar(), context.clock.now());
    const filter = {
      ...conditionsFrom(options),
      ...days,
      groupBy: options.groupBy,
      source: sourceOf(options),
    };
    const report = await reader.usage(filter);
    if (options.json) sayJson(context, report);
    else if (options.csv) say(context, usageCsv(report));
    else {
      const charts = await readCharts(reader, filter, report);
      tell(
        context,
        usageTable(report, terminalOf(context.stdout, context.env, options), {
          ...charts,
          source: filter.source,
        }),
      );
    }
  });
}

/** What the charts show: the models behind a report by day, the days behind one by anything else. */
async function readCharts(reader: Reader, filter: UsageFilter, { data }: UsageView): Promise<UsageCharts> {
  const { groupBy } = filter;
  if (groupBy === 'day') {
    const byModel = await reader.usage({ ...filter, groupBy: 'model' });
    return { parts: rowsOf(byModel) };
  }
  const [only = 'model', second] = groupingsOf(groupBy);
  if (second !== undefined || only === 'day') return {};
  const trends = await reader.usageTrends({ ...filter, groupBy: only });
  const costs = trends.data?.map(({ key, cost_nano_usd }) => [key, cost_nano_usd] as const);
  return { parts: rowsOf({ data, group_by: groupBy }), trends: costs && new Map(costs) };
}

/** gw's own usage isn't asked for by name: older versions know no sources. */
function sourceOf({ source, status }: Options): UsageSource | undefined {
  if (source === 'gw') return undefined;
  if (status !== undefined) throw usageError('--status is for what came through gw: imported usage has none');
  return source;
}

function readGroupBy(text: string): GroupBy {
  const groupBy = GROUP_BYS.find((each) => each === text.replaceAll(' ', ''));
  if (groupBy) return groupBy;
  throw new InvalidArgumentError(`Allowed choices are ${GROUP_CHOICES}.`);
}

/** The inclusive days of the report: by default the last 30. */
function daysOf({ from, to, month }: Options, calendar: Calendar, now: number): { from: string; to: string } {
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
