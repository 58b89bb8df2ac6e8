import { Option } from 'commander';
import { formatUsd, NANO_PER_USD } from '../../money.ts';
import type { BacktestView } from '../../operations/schemas/backtest.ts';
import { ALL_PROJECTS } from '../../store/ledger/terms.ts';
import { count } from '../../terminal/numbers.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { note, say, sayJson, screenOf } from '../context.ts';
import { readDays } from '../input/values.ts';
import { withGateway } from '../with-gateway.ts';
import { LASTING_PERIODS, readAmount } from './read.ts';

/** A key of one project can read no other. */
const OWN_PROJECT = [
  '-p, --project <name>',
  'project (default: default; with GW_URL, that of the key)',
] as const;

/** Commands that try a cap on past requests. */
export const addBacktests: SetUp = (command, context) => {
  backtest(command, context);
  command
    .command('suggest')
    .description('suggest a daily cap from the last 30 days')
    .option(...OWN_PROJECT)
    .option(...AS_JSON)
    .action(async ({ project, json }) => {
      const suggestion = await withGateway(context, (reader) =>
        reader.suggestBudget({ project_id: project }),
      );
      if (json) return sayJson(context, suggestion);
      const { cap_nano_usd: cap, reason, project_id } = suggestion;
      if (cap === null) return note(context, `No suggestion: ${reason}.`);
      const amount = formatUsd(cap);
      const ofProject = project_id === 'default' ? '' : ` -p ${project_id}`;
      say(
        context,
        `${amount} a day: ${reason}.\nTo set it: gw budget set ${amount.replace(/[$,]/g, '')}${ofProject}`,
      );
    });
};

const backtest: SetUp = (command, context) =>
  command
    .command('backtest')
    .argument('<amount>', 'cap in dollars, such as 15')
    .description('show what a cap would have refused and saved of past requests')
    .option('-p, --project <names>', `${OWN_PROJECT[1]}, or several: web,api`)
    .option('--all-projects', 'a cap for all projects together')
    .addOption(
      new Option('--period <period>', 'when spending starts again from zero')
        .choices(LASTING_PERIODS)
        .default('daily'),
    )
    .option('--from <day>', 'first day: YYYY-MM-DD, today, yesterday, 7d (default: 29 days before --to)')
    .option('--to <day>', 'last day (default: today)')
    .option('--key <key>', 'a cap for one key: its label or id')
    .option('--session <id>', 'for one session of an agent')
    .option('--agent <name>', 'for one agent')
    .option('--model <pattern>', 'for what these models serve: "openai/gpt-5*"')
    .option('--provider <name>', 'for what one provider serves')
    .option('--label <name=value>', 'for one label: customer=acme')
    .option(...AS_JSON)
    .action(async (amount, { project, allProjects, period, json, from, to, ...scope }) => {
      const capNanoUsd = readAmount(amount);
      const report = await withGateway(context, async (reader) => {
        const calendar = await reader.calendar();
        const now = context.clock.now();
        return reader.backtest({
          project_id: allProjects ? ALL_PROJECTS : project,
          cap_usd: (capNanoUsd / NANO_PER_USD).toFixed(9),
          period,
          ...scope,
          ...readDays({ from, to }, calendar, now),
        });
      });
      if (json) sayJson(context, report);
      else if (report.periods.length === 0)
        note(context, `No request of project ${report.project_id} from ${report.from} to ${report.to}.`);
      else say(context, backtestText(report, screenOf(context), context.clock.now()));
    });

function backtestText(report: BacktestView, terminal: Terminal, now: number): string {
  const { palette } = terminal;
  const { total } = report;
  const times = createTimeFormat(report.timezone);
  const moment = (time: string | null) => (time === null ? '-' : times.moment(Date.parse(time), now));
  type Row = BacktestView['periods'][number];
  const columns: Column<Row>[] = [
    { header: 'from', value: ({ start }) => moment(start) },
    right('spent', (row) => formatUsd(row.spent_nano_usd)),
    { header: 'alert', value: ({ alert_at }) => moment(alert_at) },
    { header: 'stopped', value: ({ stopped_at }) => moment(stopped_at) },
    right('refused', (row) => count(row.blocked_requests)),
    right('saved', (row) => formatUsd(row.saved_nano_usd)),
    { header: 'who', value: whoText, shrinks: true },
  ];
  const exact = report.exact
    ? ''
    : '\nNot exact: some records lack what they needed, or were refused and would not have been.';
  return [
    palette.bold(
      `A ${report.period} cap of ${formatUsd(report.cap_nano_usd)}${scopeText(report)}, ${report.from} to ${report.to} (${report.timezone})`,
    ),
    '',
    ...table(report.periods, columns, { terminal }),
    '',
    `It would have refused ${count(total.blocked_requests)} of ${count(total.requests)} requests and saved ${formatUsd(total.saved_nano_usd)}.${exact}`,
  ].join('\n');
}

function scopeText({ scope }: BacktestView): string {
  return scope === null ? '' : ` for ${scope.kind.replace('label:', 'label ')} ${scope.value}`;
}

function whoText({ stopped }: BacktestView['periods'][number]): string {
  const names = new Set(stopped.map(({ agent, key }) => agent ?? key ?? 'unknown'));
  return names.size === 0 ? '-' : [...names].join(', ');
}
