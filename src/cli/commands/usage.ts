import { InvalidArgumentError, Option } from 'commander';
import { addDays, type Calendar, createCalendar, datesOfMonth } from '../../calendar.ts';
import type { Reader, UsageFilter } from '../../reading/reader.ts';
import type { TeamUsageView, UsageView } from '../../reading/schemas.ts';
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
import { type Context, note, say, sayJson, tell } from '../context.ts';
import { usageError } from '../exit.ts';
import { parseDay } from '../input/dates.ts';
import { addConditions, type ConditionOptions, conditionsFrom } from '../requests/conditions.ts';
import { usageCsv } from '../usage/csv.ts';
import { rowsOf } from '../usage/rows.ts';
import { type UsageCharts, usageTable } from '../usage/table.ts';
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
    .action(async (options) => {
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
    });
};

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

export interface UsageOptions extends ConditionOptions {
  groupBy: GroupBy | TeamGrouping;
  team?: true;
  source?: UsageSource;
  from?: string;
  to?: string;
  month?: string | true;
  json?: boolean;
  csv?: boolean;
  ascii?: boolean;
}

const DEFAULT_DAYS = 30;

/** The inclusive days of the report: by default the last 30. */
export function daysOf(
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
  const last = to === undefined ? calendar.dateOf(now) : parseDay(to, '--to', calendar, now);
  const first =
    from === undefined ? addDays(last, 1 - DEFAULT_DAYS) : parseDay(from, '--from', calendar, now);
  if (first > last) throw usageError(`--from ${first} is after --to ${last}`);
  return { from: first, to: last };
}

/** Options of the report that need records, which a team has none of. */
const LOCAL_ONLY = ['project', 'model', 'key', 'agent', 'session', 'repo', 'status'] as const;

/** The whole team's usage, from its database. */
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
  await withReader(context, async (reader) => {
    const { timezone } = await reader.team();
    const calendar = timezone === null ? await reader.calendar() : createCalendar(timezone);
    const days = daysOf(options, calendar, context.clock.now());
    const report = await reader.teamUsage({ ...days, groupBy });
    if (options.json) return sayJson(context, report);
    if (options.csv) return say(context, usageCsv(asUsage(report)));
    const parts = groupBy === 'day' ? await reader.teamUsage({ ...days, groupBy: 'model' }) : report;
    tell(
      context,
      usageTable(asUsage(report), terminalOf(context.stdout, context.env, options), {
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
