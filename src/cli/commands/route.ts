import { Option } from 'commander';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import type { SetUp } from '../command.ts';
import type { Context } from '../context.ts';
import { usageError } from '../exit.ts';
import { answerLines } from '../input/jsonl.ts';
import { openInput } from '../input/request-file.ts';
import { explain } from '../route/explain.ts';
import { type LearnOptions, learnFrom } from '../route/learn.ts';
import { learnerFileOf } from '../route/learner-file.ts';
import { onlineScorer, scorer } from '../route/score-lines.ts';

interface Options {
  project: string;
  json?: boolean;
  jsonl?: boolean;
  online?: boolean;
}

export const route: SetUp = (command, context) => {
  command
    .argument('[file]', 'JSON file with a request, or with its array of messages; - is stdin')
    .option('-p, --project <name>', 'project whose training counts', DEFAULT_PROJECT)
    .option('--json', 'print JSON')
    .addOption(
      new Option('--jsonl', 'for each input line {"id","messages"}, print {"id","score"}').conflicts('json'),
    )
    .option('--online', 'with --jsonl: also learn from lines {"id","feedback":{"tier","correct"}}')
    .action((file: string | undefined, options: Options) => run(context, file, options));
  command
    .command('learn <file>')
    .description('train a project on lines {"messages","strong_correct","weak_correct"}; - is stdin')
    .option('-p, --project <name>', 'project to train', DEFAULT_PROJECT)
    .option('--fresh', 'discard its earlier training')
    .option('--json', 'print JSON')
    .action((file: string, options: LearnOptions) => learnFrom(context, file, options));
};

async function run(context: Context, file: string | undefined, options: Options): Promise<void> {
  const { project, json, jsonl, online } = options;
  if (online && !jsonl) throw usageError('--online requires --jsonl');
  if (!jsonl && file === undefined) {
    throw usageError('missing file. For example: gw route request.json   or: gw route - < request.json');
  }
  const learner = (await learnerFileOf(context, project)).read();
  if (jsonl) {
    await answerLines(context, openInput(context, file), online ? onlineScorer(learner) : scorer(learner));
  } else await explain(context, file ?? '-', { project, learner, json });
}
