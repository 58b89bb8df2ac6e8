import { formatUsd, usdNumber } from '../../money.ts';
import type { AskView } from '../../operations/schemas/asks.ts';
import { budgetLabel } from '../../store/ledger/terms.ts';
import { right } from '../../terminal/table.ts';
import { secondsLeft } from '../../terminal/time.ts';
import { readAmount } from '../budgets/read.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp } from '../command.ts';
import { note, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { printList } from '../print-list.ts';
import { withGateway } from '../with-gateway.ts';

export const asks: SetUp = (command, context) =>
  command
    .option(...ONLY_PROJECT)
    .option(...AS_JSON)
    .addHelpText(
      'after',
      '\nTo answer: gw approve ID, gw deny ID. A budget asks after: gw budget set 5 --on-limit ask',
    )
    .action(async ({ project, json }) => {
      // The oldest first, as they run out in this order.
      const found = await withGateway(context, (reader) => reader.asks({ project_id: project }));
      const id = found[0]?.id;
      const now = context.clock.now();
      printList(
        context,
        found,
        [
          { header: 'id', value: ({ id }) => id },
          { header: 'budget', value: ({ budget_id }) => budgetLabel(budget_id), shrinks: true },
          { header: 'agent', value: ({ agent }) => agent ?? '-' },
          { header: 'model', value: ({ model }) => model, shrinks: true },
          ...(found.some(({ runaway }) => runaway !== null)
            ? [{ header: 'runaway', value: (row: AskView) => row.runaway ?? '-', shrinks: true }]
            : []),
          right('needs', (row) => formatUsd(row.needed_nano_usd)),
          right('waits', (row) => secondsLeft(row.expires_at, now)),
        ],
        {
          json,
          empty: 'No request waits for an answer.',
          below: [`To answer: gw approve ${id}   or: gw deny ${id}`],
        },
      );
    });

export const approve: SetUp = (command, context) =>
  command
    .argument('<id>', 'shown by gw asks')
    .option('--once', 'the request alone goes beyond the budget (default)')
    .option('--raise <amount>', 'raise the budget by this many dollars instead')
    .option(...AS_JSON)
    .action(async (id, { raise, once, json }) => {
      if (once && raise !== undefined)
        throw usageError(`give --once or --raise, not both: gw approve ${id} --raise ${raise}`);
      const raiseNanoUsd = raise === undefined ? undefined : readAmount(raise);
      const ask = await withGateway(context, (admin) =>
        admin.approveAsk(
          raiseNanoUsd === undefined ? { id, once: true } : { id, raise_usd: usdNumber(raiseNanoUsd) },
        ),
      );
      const how =
        raiseNanoUsd === undefined && ask.runaway !== null
          ? `session ${ask.session} goes on.`
          : raiseNanoUsd === undefined
            ? `request ${ask.request_id} may cost up to ${formatUsd(ask.needed_nano_usd)} beyond budget ${ask.budget_id}, which stays as it is.`
            : `budget ${ask.budget_id} is raised by ${formatUsd(raiseNanoUsd)}, and request ${ask.request_id} goes on.`;
      if (json) sayJson(context, ask);
      else note(context, `Approved ${ask.id}: ${how}`);
    });

export const deny: SetUp = (command, context) =>
  command
    .argument('<id>', 'shown by gw asks')
    .option(...AS_JSON)
    .action(async (id, { json }) => {
      const ask = await withGateway(context, (admin) => admin.denyAsk({ id }));
      if (json) sayJson(context, ask);
      else
        note(context, `Denied ${ask.id}: request ${ask.request_id} is refused by budget ${ask.budget_id}.`);
    });
