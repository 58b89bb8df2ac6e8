import { formatUsd } from '../../money.ts';
import type { AskView } from '../../reading/ask-schema.ts';
import { budgetLabel } from '../../store/ledger/terms.ts';
import { type Column, table } from '../../terminal/table.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { secondsLeft } from '../../terminal/time.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { withReader } from '../with-gateway.ts';

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
    .action((options: Options) => run(context, options));
};

async function run(context: Context, { project, json }: Options): Promise<void> {
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
