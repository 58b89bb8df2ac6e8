import { formatUsd } from '../../money.ts';
import { readAmount } from '../budgets/read.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { withAdmin } from '../with-gateway.ts';

interface Options {
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
    .action((id: string, options: Options) => run(context, id, options));
};

async function run(context: Context, id: string, { raise, once, json }: Options): Promise<void> {
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
