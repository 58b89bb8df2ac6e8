import { Option } from 'commander';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import { clientVariables, exportLines, SHELLS, type Shell } from '../client/variables.ts';
import { warnOfForeignKeys } from '../client/warn-of-foreign-keys.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { addressOf, findDaemon, originOf } from '../daemon/find.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

interface Options {
  project: string;
  shell: Shell;
  json?: boolean;
}

export const env: SetUp = (command, context) => {
  command
    .option('-p, --project <name>', 'project to charge', DEFAULT_PROJECT)
    .addOption(new Option('--shell <shell>', 'shell to print the lines for').choices(SHELLS).default('sh'))
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nbash, zsh:   eval "$(gw env)"\nfish:        gw env --shell fish | source\npowershell:  gw env --shell powershell | Invoke-Expression',
    )
    .action((options: Options) => run(context, options));
};

async function run(context: Context, { project, shell, json }: Options): Promise<void> {
  const state = await findDaemon(context);
  const { settings } = readSettings(context);
  const origin = state.kind === 'running' ? state.daemon.origin : originOf(addressOf(settings), settings);
  const key = await withStore(context, (db) => cliKeyOf(context, db, project));
  const variables = clientVariables({ origin, key }, context.env);
  if (json) sayJson(context, variables);
  else say(context, exportLines(variables, shell));
  warnOfForeignKeys(context);
  if (state.kind !== 'running') note(context, 'gw is not running yet. Run: gw start');
}
