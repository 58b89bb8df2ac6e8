import { Option } from 'commander';
import { labelName } from '../../labels.ts';
import { formatUsd, NANO_PER_USD } from '../../money.ts';
import type { BacktestView } from '../../operations/schemas/backtest.ts';
import { ALL_PROJECTS, EACH_CHOICES } from '../../store/ledger/terms.ts';
import { count, plural } from '../../terminal/numbers.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { note, say, sayJson, screenOf } from '../context.ts';
import { usageError } from '../exit.ts';
import { readDays } from '../input/values.ts';
import { withGateway } from '../with-gateway.ts';
import { LASTING_PERIODS, readAmount, readEachKind, readOldRepo, readOnLimit } from './read.ts';

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
    .option(
      '--from <day or percent>',
      'first day: YYYY-MM-DD, today, yesterday, 7d (default: 29 days before --to); 80%: with fallback, from this share of the cap on',
      (value: string, given: string[] = []) => [...given, value],
    )
    .option('--to <day>', 'last day (default: today)')
    .option('--repo <path>', 'a cap for one git repository, such as .')
    .option('--key <key>', 'for one key: its label or id')
    .option('--session <id>', 'for one session of an agent')
    .option('--agent <name>', 'for one agent')
    .option('--model <pattern>', 'for what these models serve: "openai/gpt-5*"')
    .option('--provider <name>', 'for what one provider serves')
    .option('--label <name=value>', 'for one label: customer=acme')
    .option('--per <what>', `a cap for each ${EACH_CHOICES}`, readEachKind)
    .option(
      '--on-limit <what>',
      'block: refuse requests beyond it (default); fallback:MODEL,...: send them there',
    )
    .option(...AS_JSON)
    .action(async (amount, { project, allProjects, period, json, from, to, onLimit, repo, ...scope }) => {
      const capNanoUsd = readAmount(amount);
      const [share, day] = [true, false].map((isShare) =>
        from?.findLast((each) => each.endsWith('%') === isShare),
      );
      const limit = readOnLimit(onLimit, share);
      if (limit.onLimit === 'ask')
        throw usageError('nobody can be asked about the past: use block or fallback:MODEL');
      const report = await withGateway(context, async (reader) => {
        const calendar = await reader.calendar();
        const now = context.clock.now();
        return reader.backtest({
          project_id: allProjects ? ALL_PROJECTS : project,
          cap_usd: (capNanoUsd / NANO_PER_USD).toFixed(9),
          period,
          ...scope,
          repo: repo === undefined ? undefined : readOldRepo(repo),
          fallback: limit.fallback?.join(','),
          fallback_percent: limit.fallbackPercent,
          ...readDays({ from: day, to }, calendar, now),
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
    ...effects<Row>(report),
    { header: 'who', value: whoText, shrinks: true },
  ];
  return [
    palette.bold(
      `A ${report.period} cap of ${formatUsd(report.cap_nano_usd)}${scopeText(report)}, ${report.from} to ${report.to} (${report.timezone})`,
    ),
    '',
    ...table(report.periods, columns, { terminal }),
    ...membersText(report, terminal),
    ...fallbackText(report, terminal),
    '',
    `It would have refused ${count(total.blocked_requests)} of ${count(total.requests)} requests${sentText(report)} and saved ${formatUsd(total.saved_nano_usd)}.`,
    ...(report.exact ? [] : [inexactText(report)]),
  ].join('\n');
}

type Effect = Pick<BacktestView['total'], 'blocked_requests' | 'fallback_requests' | 'saved_nano_usd'>;

/** What the cap would have done to the requests of a row. */
const effects = <Row extends Effect>({ fallback }: BacktestView): Column<Row>[] => [
  right('refused', (row) => count(row.blocked_requests)),
  ...(fallback ? [right<Row>('cheaper', (row) => count(row.fallback_requests))] : []),
  right('saved', (row) => formatUsd(row.saved_nano_usd)),
];

/** The members of a cap for each that it would have hit. */
function membersText(report: BacktestView, terminal: Terminal): string[] {
  const { members, scope } = report;
  if (!members || !scope) return [];
  const label = labelName(scope.kind);
  const all = label
    ? `${plural(members.total, 'value')} of label ${label}`
    : plural(members.total, scope.kind);
  const hit = `${count(members.hit)} of ${all} would have been hit`;
  if (members.hit === 0) return ['', `${hit}.`];
  type Row = (typeof members.most_hit)[number];
  const columns: Column<Row>[] = [
    { header: label ?? scope.kind, value: ({ name }) => name, shrinks: true },
    right('requests', ({ requests }) => count(requests)),
    right('spent', ({ spent_nano_usd }) => formatUsd(spent_nano_usd)),
    ...effects<Row>(report),
  ];
  const shown = members.most_hit.slice(0, MOST_SHOWN);
  const most = members.hit > shown.length ? `, most of all these ${shown.length}:` : ':';
  return ['', `${hit}${most}`, ...table(shown, columns, { terminal })];
}

const MOST_SHOWN = 10;

/** What would have gone to each cheaper model, and at which price. */
function fallbackText({ fallback }: BacktestView, terminal: Terminal): string[] {
  if (!fallback) return [];
  type Row = (typeof fallback.models)[number];
  const columns: Column<Row>[] = [
    { header: 'cheaper model', value: ({ model }) => model, shrinks: true },
    right('$/M in', (row) => `${row.input_usd_per_million ?? '-'}`),
    right('$/M out', (row) => `${row.output_usd_per_million ?? '-'}`),
    right('requests', ({ requests }) => count(requests)),
    right('cost', ({ cost_nano_usd }) => formatUsd(cost_nano_usd)),
    right('instead of', ({ own_cost_nano_usd }) => formatUsd(own_cost_nano_usd)),
  ];
  return ['', ...table(fallback.models, columns, { terminal })];
}

const sentText = ({ fallback, total }: BacktestView): string =>
  fallback ? `, sent ${count(total.fallback_requests)} to a cheaper model` : '';

const inexactText = ({ fallback }: BacktestView): string =>
  fallback
    ? 'Not exact: a cheaper model is taken at its list price for the recorded tokens, and its answers may be shorter or longer.'
    : 'Not exact: some records lack what they needed, were refused and would not have been, or were served by a cheaper model.';

function scopeText({ scope, fallback }: BacktestView): string {
  const of =
    scope === null
      ? ''
      : ` for ${scope.value === null ? 'each ' : ''}${scope.kind.replace('label:', 'label ')}`;
  const beyond = fallback && fallback.from_percent < 100 ? ` from ${fallback.from_percent}% on` : '';
  const to = fallback ? `, then ${fallback.models.map(({ model }) => model).join(', else ')}${beyond}` : '';
  return `${of}${scope?.value ? ` ${scope.value}` : ''}${to}`;
}

function whoText({ stopped }: BacktestView['periods'][number]): string {
  const names = new Set(stopped.map(({ agent, key }) => agent ?? key ?? 'unknown'));
  return names.size === 0 ? '-' : [...names].join(', ');
}
