import { Option } from 'commander';
import { addDays, type Calendar } from '../../calendar.ts';
import type { Db } from '../../store/database/open.ts';
import { GROUPINGS, type Grouping, type UsageQuery } from '../../store/reports/query.ts';
import { type UsageReport, usageReport, usageTrends } from '../../store/reports/usage-report.ts';
import { type UsageScope, usageResponse } from '../../store/reports/usage-response.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import { parseDay } from '../input/dates.ts';
import { settingsAndCalendar } from '../settings.ts';
import { usageCsv } from '../usage/csv.ts';
import { type UsageCharts, usageTable } from '../usage/table.ts';
import { projectFilter, withStore } from '../with-store.ts';

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
  const { calendar } = settingsAndCalendar(context);
  const scope = scopeOf(options, calendar, context.clock.now());
  const { report, charts } = await withStore(context, async (db) => {
    const query = { ...scope, ...projectFilter(db, options.project) };
    const report = await usageReport(db, calendar, query);
    return {
      report,
      charts: options.json || options.csv ? {} : await readCharts(db, calendar, query, report),
    };
  });
  if (options.json) sayJson(context, usageResponse(report, scope, { nano: true }));
  else if (options.csv) say(context, usageCsv(report, scope));
  else tell(context, usageTable(report, scope, terminalOf(context.stdout, context.env, options), charts));
}

/** What the charts show: the models behind a report by day, the days behind any other. */
async function readCharts(
  db: Db,
  calendar: Calendar,
  query: UsageQuery,
  { rows }: UsageReport,
): Promise<UsageCharts> {
  const { groupBy } = query;
  if (groupBy === 'day')
    return { parts: (await usageReport(db, calendar, { ...query, groupBy: 'model' })).rows };
  return { parts: rows, trends: await usageTrends(db, calendar, { ...query, groupBy }) };
}

function scopeOf({ from, to, groupBy, project }: Options, calendar: Calendar, now: number): UsageScope {
  const last = to === undefined ? calendar.dateOf(now) : parseDay(to, '--to', calendar, now);
  const first =
    from === undefined ? addDays(last, 1 - DEFAULT_DAYS) : parseDay(from, '--from', calendar, now);
  if (first > last) throw usageError(`--from ${first} is after --to ${last}`);
  return { from: first, to: last, groupBy, project: project ?? null, timezone: calendar.timezone };
}
