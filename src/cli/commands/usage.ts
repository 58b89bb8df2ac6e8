import { Option } from 'commander';
import { addDays, type Calendar } from '../../calendar.ts';
import type { Reader, UsageFilter } from '../../reading/reader.ts';
import type { UsageView } from '../../reading/schemas.ts';
import { GROUPINGS, type Grouping } from '../../store/reports/query.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import { parseDay } from '../input/dates.ts';
import { usageCsv } from '../usage/csv.ts';
import { rowsOf } from '../usage/rows.ts';
import { type UsageCharts, usageTable } from '../usage/table.ts';
import { withReader } from '../with-gateway.ts';

interface Options {
  groupBy: Grouping;
  from?: string;
  to?: string;
  project?: string;
  json?: boolean;
  csv?: boolean;
  ascii?: boolean;
}

const DEFAULT_DAYS = 30;

export const usage: SetUp = (command, context) => {
  command
    .addOption(
      new Option('-g, --group-by <what>', 'what to show a row for').choices(GROUPINGS).default('day'),
    )
    .option('--from <day>', 'first day: YYYY-MM-DD, today, yesterday, 7d (default: 29 days before --to)')
    .option('--to <day>', 'last day (default: today)')
    .option('-p, --project <name>', 'only this project')
    .addOption(new Option('--json', 'print JSON, as GET /v1/usage returns it').conflicts('csv'))
    .option('--csv', 'print CSV')
    .option('--ascii', 'no block characters')
    .action((options: Options) => run(context, options));
};

async function run(context: Context, options: Options): Promise<void> {
  await withReader(context, async (reader) => {
    const filter = filterOf(options, await reader.calendar(), context.clock.now());
    const report = await reader.usage(filter);
    if (options.json) sayJson(context, report);
    else if (options.csv) say(context, usageCsv(report));
    else {
      const charts = await readCharts(reader, filter, report);
      tell(context, usageTable(report, terminalOf(context.stdout, context.env, options), charts));
    }
  });
}

/** What the charts show: the models behind a report by day, the days behind any other. */
async function readCharts(reader: Reader, filter: UsageFilter, { data }: UsageView): Promise<UsageCharts> {
  const { groupBy } = filter;
  if (groupBy === 'day') {
    const byModel = await reader.usage({ ...filter, groupBy: 'model' });
    return { parts: rowsOf(byModel) };
  }
  const trends = await reader.usageTrends({ ...filter, groupBy });
  const costs = trends.data?.map(({ key, cost_nano_usd }) => [key, cost_nano_usd] as const);
  return { parts: rowsOf({ data, group_by: groupBy }), trends: costs && new Map(costs) };
}

function filterOf({ from, to, groupBy, project }: Options, calendar: Calendar, now: number): UsageFilter {
  const last = to === undefined ? calendar.dateOf(now) : parseDay(to, '--to', calendar, now);
  const first =
    from === undefined ? addDays(last, 1 - DEFAULT_DAYS) : parseDay(from, '--from', calendar, now);
  if (first > last) throw usageError(`--from ${first} is after --to ${last}`);
  return { from: first, to: last, groupBy, project };
}
