import type { SetUp } from '../command.ts';
import { type Context, note, sayJson } from '../context.ts';
import { withAdmin } from '../with-gateway.ts';

export const deny: SetUp = (command, context) => {
  command
    .argument('<id>', 'shown by gw asks')
    .option('--json', 'print JSON')
    .action((id: string, options: { json?: boolean }) => run(context, id, options));
};

async function run(context: Context, id: string, { json }: { json?: boolean }): Promise<void> {
  const ask = await withAdmin(context, (admin) => admin.denyAsk(id));
  if (json) sayJson(context, ask);
  else note(context, `Denied ${ask.id}: request ${ask.request_id} is refused by budget ${ask.budget_id}.`);
}
