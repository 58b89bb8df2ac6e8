import { formatUsd } from '../../money.ts';
import type { AskView } from '../../reading/ask-schema.ts';
import { budgetLabel } from '../../store/ledger/terms.ts';
import { type Column, table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { secondsLeft } from '../../terminal/time.ts';
import { readAmount } from '../budgets/read.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { withAdmin, withReader } from '../with-gateway.ts';

interface Options {
  project?: string;
  json?: boolean;
}

export const asks: SetUp = (command, context) => {
  command
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nTo answer: gw approve ID, gw deny ID. A budget asks after: gw budget set 5 --on-limit ask',
    )
    .action((options: Options) => list(context, options));
};

async function list(context: Context, { project, json }: Options): Promise<void> {
  const found = await withReader(context, (reader) => reader.asks({ project }));
  if (json) sayJson(context, found);
  else if (found.length === 0) note(context, 'No request waits for an answer.');
  else say(context, askTable(context, found));
}

/** The oldest first, as they run out in this order. */
function askTable(context: Context, found: AskView[]): string {
  const terminal = terminalOf(context.stdout, context.env);
  const now = context.clock.now();
  const columns: Column<AskView>[] = [
    { header: 'id', value: ({ id }) => id },
    { header: 'budget', value: ({ budget_id }) => budgetLabel(budget_id), shrinks: true },
    { header: 'agent', value: ({ agent }) => agent ?? '-' },
    { header: 'model', value: ({ model }) => model, shrinks: true },
    { header: 'needs', value: (row) => formatUsd(row.needed_nano_usd), align: 'right' },
    { header: 'waits', value: (row) => secondsLeft(row.expires_at, now), align: 'right' },
  ];
  const lines = table(found, columns, { terminal });
  const [first] = found;
  return [
    ...lines,
    '',
    terminal.palette.dim(`To answer: gw approve ${first?.id}   or: gw deny ${first?.id}`),
  ].join('\n');
}

interface ApproveOptions {
  raise?: string;
  once?: boolean;
  json?: boolean;
}

export const approve: SetUp = (command, context) => {
  command
    .argument('<id>', 'shown by gw asks')
    .option('--once', 'the request alone goes beyond the budget (default)')
    .option('--raise <amount>', 'raise the budget by this many dollars instead')
    .option('--json', 'print JSON')
    .action((id: string, options: ApproveOptions) => approveAsk(context, id, options));
};

async function approveAsk(
  context: Context,
  id: string,
  { raise, once, json }: ApproveOptions,
): Promise<void> {
  if (once && raise !== undefined)
    throw usageError(`give --once or --raise, not both: gw approve ${id} --raise ${raise}`);
  const raiseNanoUsd = raise === undefined ? undefined : readAmount(raise);
  const ask = await withAdmin(context, (admin) => admin.approveAsk({ id, raiseNanoUsd }));
  if (json) sayJson(context, ask);
  else if (raiseNanoUsd === undefined)
    note(
      context,
      `Approved ${ask.id}: request ${ask.request_id} may cost up to ${formatUsd(ask.needed_nano_usd)} beyond budget ${ask.budget_id}, which stays as it is.`,
    );
  else
    note(
      context,
      `Approved ${ask.id}: budget ${ask.budget_id} is raised by ${formatUsd(raiseNanoUsd)}, and request ${ask.request_id} goes on.`,
    );
}

export const deny: SetUp = (command, context) => {
  command
    .argument('<id>', 'shown by gw asks')
    .option('--json', 'print JSON')
    .action((id: string, options: { json?: boolean }) => denyAsk(context, id, options));
};

async function denyAsk(context: Context, id: string, { json }: { json?: boolean }): Promise<void> {
  const ask = await withAdmin(context, (admin) => admin.denyAsk(id));
  if (json) sayJson(context, ask);
  else note(context, `Denied ${ask.id}: request ${ask.request_id} is refused by budget ${ask.budget_id}.`);
}
