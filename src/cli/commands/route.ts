import { Option } from 'commander';
import { DEFAULT_PROJECT, findProject } from '../../store/accounts/projects.ts';
import type { SetUp } from '../command.ts';
import { usageError } from '../exit.ts';
import { answerLines } from '../input/jsonl.ts';
import { openInput } from '../input/request-file.ts';
import { explain, scorer } from '../route/explain.ts';
import { withStore } from '../with-store.ts';

export const route: SetUp = (command, context) => {
  command
    // The only subcommand is hidden.
    .usage('[options] [file]')
    .argument('[file]', 'JSON file with a request, or with its array of messages; - is stdin')
    .option('-p, --project <name>', 'project that the request is for', DEFAULT_PROJECT)
    .option('--model <model>', "model of a file that names none, as in Gemini's API")
    .option('--json', 'print JSON')
    .addOption(
      new Option('--jsonl', 'for each input line {"id","messages"}, print {"id","score"}').conflicts('json'),
    )
    .option('--online', 'with --jsonl: skip lines {"id","feedback"}; gw does not learn from them')
    .action(async (file, { project, json, model, jsonl, online = false }) => {
      if (online && !jsonl) throw usageError('--online requires --jsonl');
      if (!jsonl && file === undefined)
        throw usageError('missing file. For example: gw route request.json   or: gw route - < request.json');
      // The default project exists even without a database.
      if (project !== DEFAULT_PROJECT) await withStore(context, async (db) => findProject(db, project));
      if (jsonl) await answerLines(context, openInput(context, file), scorer({ online }));
      else await explain(context, file ?? '-', { project, json, model });
    });
  command
    .command('learn [words...]', { hidden: true })
    .allowUnknownOption()
    .action(() => {
      throw usageError(
        'gw route learn was removed in this version of gw: prompts are scored by the built-in rules. To choose how many requests the strong tier gets: gw config set routing.shares.PROJECT 30%',
      );
    });
};
