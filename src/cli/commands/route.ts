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
    .argument('[file]', 'a request as JSON, or its array of messages; - is stdin')
    .option('-p, --project <name>', 'whose learning counts', DEFAULT_PROJECT)
    .option('--json', 'as JSON')
    .addOption(
      new Option('--jsonl', 'go on: for each line {"id","messages"} print {"id","score"}').conflicts('json'),
    )
    .option('--online', 'with --jsonl: learn from lines {"id","feedback":{"tier","correct"}} as it goes on')
    .action((file: string | undefined, options: Options) => run(context, file, options));
  command
    .command('learn <file>')
    .description('teach a project from lines {"messages","strong_correct","weak_correct"}; - is stdin')
    .option('-p, --project <name>', 'project that learns', DEFAULT_PROJECT)
    .option('--fresh', 'forget what it learnt before')
    .option('--json', 'as JSON')
    .action((file: string, options: LearnOptions) => learnFrom(context, file, options));
};

async function run(context: Context, file: string | undefined, options: Options): Promise<void> {
  const { project, json, jsonl, online } = options;
  if (online && !jsonl) throw usageError('--online goes with --jsonl');
  if (!jsonl && file === undefined) {
    throw usageError('which request? Such as: gw route request.json   or: gw route - < request.json');
  }
  const learner = (await learnerFileOf(context, project)).read();
  if (jsonl) {
    await answerLines(context, openInput(context, file), online ? onlineScorer(learner) : scorer(learner));
  } else await explain(context, file ?? '-', { project, learner, json });
}
