import { Argument } from 'commander';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, sayJson, tell } from '../context.ts';
import { importAll } from '../imports/import-source.ts';
import { READABLE, sourceName } from '../imports/sources.ts';
import { importText } from '../imports/view.ts';

export const importLogs: SetUp = (command, context) => {
  const sources = new Argument('[source...]', 'an agent or the path of a log (default: all agents)');
  sources.argChoices = READABLE.map(sourceName);
  command
    .addArgument(sources)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `\nReads the session logs of ${READABLE.map(({ title }) => title).join(', ')} and adds what did not come through gw,\nat list price. Imported requests count in no budget. To see them: gw usage --source imported`,
    )
    .action((words: string[], options: { json?: boolean }) => run(context, words, options));
};

async function run(context: Context, words: readonly string[], { json }: { json?: boolean }): Promise<void> {
  const rows = await importAll(context, words);
  if (json) sayJson(context, rows);
  else tell(context, importText(rows, terminalOf(context.stdout, context.env)));
}
