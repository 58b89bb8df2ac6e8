import { Option } from 'commander';
import type { LimitUsageView, LimitWindowView } from '../../operations/schemas/limits.ts';
import { timeText } from '../../operations/times.ts';
import { type GuardedKind, keyLabel, listGuards, removeGuard, setGuard } from '../../store/limits/guards.ts';
import { hourText, ownersOf, paceText, windowText } from '../../terminal/limit-words.ts';
import { count, percent, tokens, usdText } from '../../terminal/numbers.ts';
import { type Column, right } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat, duration, type TimeFormat } from '../../terminal/time.ts';
import { readShare } from '../budgets/read.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { changeSetting } from '../config/change.ts';
import { type Context, note, say, sayJson, screenOf } from '../context.ts';
import { usageError } from '../exit.ts';
import { parseSince } from '../input/values.ts';
import { listText, printList } from '../print-list.ts';
import { announceChange } from '../settings.ts';
import { withGateway } from '../with-gateway.ts';
import { withStore } from '../with-store.ts';

const GROUPS = ['session', 'agent', 'repo', 'model'] as const;

export const limits: SetUp = (command, context) => {
  list(command, context);
  alert(command, context);
  guard(command, context);
};

const list: SetUp = (command, context) =>
  command
    .command('list')
    .description('show what is used of each window, and when it resets')
    .addOption(
      new Option('-g, --group-by <what>', 'whose it was instead: percent of the windows by this').choices(
        GROUPS,
      ),
    )
    .option('--since <time>', 'with --group-by, since then: 5h, 7d, today, YYYY-MM-DD (default: 7d)')
    .option('--login <hash>', 'with --group-by, only this login')
    .option(...AS_JSON)
    .action(async ({ json, groupBy, since, login }) => {
      if (groupBy === undefined && (since ?? login) !== undefined)
        throw usageError('--since and --login go with --group-by: gw limits --group-by session --since 7d');
      await withGateway(context, async (reader) => {
        if (groupBy !== undefined) {
          const from = parseSince(since ?? '7d', await reader.calendar(), context.clock.now());
          const usage = await reader.limitUsage({ group_by: groupBy, since: timeText(from), login });
          return json ? sayJson(context, usage) : say(context, usageText(usage, groupBy, screenOf(context)));
        }
        const windows = await reader.limits();
        const { timezone } = await reader.calendar();
        printList(context, windows, columns(windows, timezone, context), {
          json,
          empty:
            'No windows yet: no answer to a login has come through gw. To use one: gw run --subscription -- claude',
          title: `Plan windows (${timezone})`,
          below: ["As the provider's last answer said. What is used beside gw shows with the next answer."],
        });
      });
    });

function columns(
  windows: readonly LimitWindowView[],
  timezone: string,
  context: Context,
): Column<LimitWindowView>[] {
  const times = createTimeFormat(timezone);
  const now = context.clock.now();
  const { symbols } = screenOf(context);
  const isUnusual = windows.some(({ status }) => status !== 'allowed');
  return [
    { header: 'plan', value: ownersOf(windows) },
    { header: 'window', value: windowText, shrinks: true },
    { header: 'used', value: ({ used }) => percent(used), align: 'right', style: 'bold' },
    { header: 'last hour', value: (row) => hourText(row, symbols) },
    { header: 'at this rate', value: (row) => paceText(row, times, now) },
    right('resets in', ({ resets_at }) => resetText(resets_at, times, now)),
    ...(isUnusual ? [{ header: 'status', value: ({ status }: LimitWindowView) => status }] : []),
  ];
}

function resetText(resetsAt: string | null, times: TimeFormat, now: number): string {
  if (resetsAt === null) return '-';
  const at = Date.parse(resetsAt);
  return `${duration(Math.max(0, at - now))} (${times.moment(at, now)})`;
}

type UsageRow = LimitUsageView['data'][number];

/** Whose a window was, and what is beside gw; they sum to what the provider reported. */
function usageText({ data, outside, error }: LimitUsageView, group: string, terminal: Terminal): string {
  const rows = [...data, { ...NOBODY, ...outside }];
  const columns: Column<UsageRow>[] = [
    {
      header: group,
      value: ({ key }) => key ?? '-',
      shrinks: true,
    },
    { header: '5h', value: (row) => shareText(row.share_5h), align: 'right', style: 'bold' },
    { header: '7d', value: (row) => shareText(row.share_7d), align: 'right', style: 'bold' },
    right('requests', (row) => count(row.requests)),
    right('in>out', (row) => `${tokens(row.input_tokens)}>${tokens(row.output_tokens)}`),
    right('list price', (row) => usdText(row.list_usd)),
  ];
  const errors = (['share_5h', 'share_7d'] as const).flatMap((name) => {
    const miss = error[name];
    return miss === null ? [] : [`${(miss * 100).toFixed(1)} points of the ${name.slice(6)} window`];
  });
  return listText(rows, columns, terminal, {
    title: 'Percent of plan windows, all of that time together: 100% is a whole window',
    below: [
      errors.length === 0
        ? 'Too little history for weights of its own: shared out by list price.'
        : `Shares are estimated by weights that fit this history; a tenth of a window is off by ${errors.join(', ')}.`,
    ],
  });
}

const OUTSIDE = 'outside of gw';
const NOBODY: UsageRow = {
  ...{ key: OUTSIDE, share_5h: 0, share_7d: 0, requests: 0, input_tokens: 0, output_tokens: 0, list_usd: 0 },
};

const shareText = (share: number): string => `${(share * 100).toFixed(1)}%`;

const alert: SetUp = (command, context) =>
  command
    .command('alert <percents>')
    .description('send webhooks when so much of a window is used, such as 75,90; off for none')
    .addOption(
      new Option('--forecast <on|off>', 'also once a window will be full before it resets').choices([
        'on',
        'off',
      ]),
    )
    .action(async (percents, { forecast }) => {
      const set = await changeSetting(context, 'limits.alerts', percents === 'off' ? '' : percents);
      if (forecast !== undefined) await changeSetting(context, 'limits.forecast_alerts', forecast);
      await announceChange(context);
      note(
        context,
        set === ''
          ? 'No alerts for windows of subscriptions.'
          : `Alerts at ${set}% of each window, to webhooks that get budget.threshold_reached: gw webhooks list`,
      );
    });

const guard: SetUp = (command, context) =>
  command
    .command('guard')
    .description('keep the rest of each window for a key, an agent or a session; without options, show it')
    .option('--keep <percent>', 'the rest that is kept, such as 20%')
    .option('--for <name>', 'a key (its label or id), agent:NAME or session:ID; repeatable', collect)
    .option('--slow', 'let others wait for the reset where their clients have the patience')
    .option('--remove', 'let all use the whole windows')
    .option(...AS_JSON)
    .addHelpText(
      'after',
      '\nA best effort: the figure is that of the last answer, so each running request may go beyond it.',
    )
    .action(async ({ keep, for: names, slow = false, remove, json }) => {
      if (remove) {
        if (keep !== undefined || names) throw usageError('give --remove alone: gw limits guard --remove');
        const removed = await withStore(context, async (db) => removeGuard(db));
        return note(context, removed ? 'Removed the guard.' : 'There was no guard.');
      }
      if ((keep === undefined) !== (names === undefined))
        throw usageError('--keep and --for go together: gw limits guard --keep 20% --for agent:claude');
      if (keep !== undefined && names) {
        const keepPpm = readShare(keep, '--keep');
        await withStore(context, async (db) => setGuard(db, { keepPpm, slow, named: names.map(namedBy) }));
      }
      const guards = await withStore(context, async (db) =>
        listGuards(db).map((each) => ({
          ...each,
          name: each.kind === 'key' ? keyLabel(db, each.value) : each.value,
        })),
      );
      const rows = guards.map(({ kind, name, keepPpm, slow }) => ({
        object: 'limit_guard',
        kind,
        value: name,
        keep: keepPpm / 1_000_000,
        slow,
      }));
      printList(context, rows, GUARD_COLUMNS, {
        json,
        empty:
          'No guard: all may use the whole windows. To keep some: gw limits guard --keep 20% --for agent:claude',
        title: 'Guard of plan windows',
        below: ['Others are refused once the rest is reached. It applies from the next request.'],
      });
    });

const collect = (name: string, before: string[] = []): string[] => [...before, name];

/** What `--for` names: a key without a prefix. */
function namedBy(text: string): { kind: GuardedKind; value: string } {
  const [, kind, value = text] = /^(agent|session|key):(.*)$/.exec(text) ?? [];
  if (value === '') throw usageError(`--for ${text} names nothing: use KEY, agent:NAME or session:ID`);
  return { kind: (kind ?? 'key') as GuardedKind, value };
}

interface GuardRow {
  kind: string;
  value: string;
  keep: number;
  slow: boolean;
}

const GUARD_COLUMNS: Column<GuardRow>[] = [
  { header: 'kept for', value: ({ kind, value }) => `${kind} ${value}`, shrinks: true },
  right('rest', ({ keep }) => percent(keep)),
  { header: 'others', value: ({ slow }) => (slow ? 'wait or are refused' : 'are refused') },
];
