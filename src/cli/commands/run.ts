import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import { runChild } from '../client/run-child.ts';
import { clientVariables } from '../client/variables.ts';
import type { SetUp } from '../command.ts';
import type { Context } from '../context.ts';
import { requireDaemon } from '../daemon/find.ts';
import { Exit } from '../exit.ts';
import { withStore } from '../with-store.ts';

export const run: SetUp = (command, context) => {
  command
    .argument('<command...>', 'command to run, with its arguments')
    .usage('[options] -- <command...>')
    .option('-p, --project <name>', 'project to charge', DEFAULT_PROJECT)
    .passThroughOptions()
    .addHelpText('after', "\nExits with the command's exit code, or with 3 if gw is not running.")
    .action((words: string[], { project }: { project: string }) => runWith(context, words, project));
};

async function runWith(context: Context, words: string[], project: string): Promise<void> {
  const { origin } = await requireDaemon(context);
  const key = await withStore(context, (db) => cliKeyOf(context, db, project));
  throw new Exit(await runChild(words, { ...context.env, ...clientVariables(origin, key) }));
}
