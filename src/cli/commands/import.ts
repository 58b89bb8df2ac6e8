import { Argument } from 'commander';
import { terminalOf } from '../../terminal/terminal.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { sayJson, tell } from '../context.ts';
import { importAll, importText } from '../imports/import-source.ts';
import { READABLE, sourceName } from '../imports/sources.ts';

export const importLogs: SetUp = (command, context) => {
  const sources = new Argument('[source...]', 'an agent or the path of a log (default: all agents)');
  sources.argChoices = READABLE.map(sourceName);
  command
    .addArgument(sources)
    .option(...AS_JSON)
    .addHelpText(
      'after',
      `\nReads the session logs of ${READABLE.map(({ title }) => title).join(', ')} and adds what did not come through gw,\nat list price. Imported requests count in no budget. To see them: gw usage --source imported`,
    )
    .action(async (words, { json }) => {
      const rows = await importAll(context, words);
      if (json) sayJson(context, rows);
      else tell(context, importText(rows, terminalOf(context.stdout, context.env)));
    });
};
