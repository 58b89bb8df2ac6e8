import type { LimitWindowView } from '../../operations/schemas/limits.ts';
import { hourText, paceText, windowText } from '../../terminal/limit-words.ts';
import { percent } from '../../terminal/numbers.ts';
import { type Column, right } from '../../terminal/table.ts';
import { createTimeFormat, duration, type TimeFormat } from '../../terminal/time.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, screenOf } from '../context.ts';
import { printList } from '../print-list.ts';
import { withGateway } from '../with-gateway.ts';

export const limits: SetUp = (command, context) => {
  list(command, context);
};

const list: SetUp = (command, context) =>
  command
    .command('list')
    .description('show what is used of each window, and when it resets')
    .option(...AS_JSON)
    .action(async ({ json }) => {
      await withGateway(context, async (reader) => {
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
  const isAlone = windows.every(({ service, login }) =>
    windows.every((other) => other.service !== service || other.login === login),
  );
  const isUnusual = windows.some(({ status }) => status !== 'allowed');
  return [
    isAlone
      ? { header: 'service', value: ({ service }) => service }
      : { header: 'login', value: ({ login }) => login },
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
