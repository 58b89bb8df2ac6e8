import { InvalidArgumentError, Option } from 'commander';
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
import { TEAM_GROUPINGS, type TeamGrouping } from '../../store/team/usage-query.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import { addConditions, conditionsFrom } from '../requests/conditions.ts';
import { usageCsv } from '../usage/csv.ts';
import { daysOf, type UsageOptions } from '../usage/options.ts';
import { rowsOf } from '../usage/rows.ts';
import { type UsageCharts, usageTable } from '../usage/table.ts';
import { runTeam } from '../usage/team.ts';
import { withReader } from '../with-gateway.ts';

export const usage: SetUp = (command, context) => {
  addConditions(command)
    .addOption(
      new Option('-g, --group-by <what>', 'what to show a row for, or two: agent,model')
        .choices(GROUPINGS)
        .argParser(readGroupBy)
        .default('day'),
    )
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
    .option('--ascii', 'no block characters')
    .action((options: UsageOptions) => run(context, options));
};

async function run(context: Context, options: UsageOptions): Promise<void> {
  if (options.team) return runTeam(context, options);
  const { groupBy } = options;
  if (!isLocal(groupBy))
    throw usageError(`--group-by ${groupBy} is for a team: gw usage --team -g ${groupBy}`);
  await withReader(context, async (reader) => {
    const days = daysOf(options, await reader.calendar(), context.clock.now());
    const filter = {
      ...conditionsFrom(options),
      ...days,
      groupBy,
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
function sourceOf({ source, status }: UsageOptions): UsageSource | undefined {
  if (source === 'gw') return undefined;
  if (status !== undefined) throw usageError('--status is for what came through gw: imported usage has none');
  return source;
}

const isLocal = (groupBy: GroupBy | TeamGrouping): groupBy is GroupBy =>
  GROUP_BYS.some((each) => each === groupBy);

function readGroupBy(text: string): GroupBy | TeamGrouping {
  const choices: readonly (GroupBy | TeamGrouping)[] = [...GROUP_BYS, ...TEAM_GROUPINGS];
  const groupBy = choices.find((each) => each === text.replaceAll(' ', ''));
  if (groupBy) return groupBy;
  throw new InvalidArgumentError(`Allowed choices are ${GROUP_CHOICES}.`);
}
