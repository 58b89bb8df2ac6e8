import { writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { compress } from '../../compression/conversation/compress.ts';
import { OPTIMIZER_LEVELS, type OptimizerLevel } from '../../config/settings.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { wrap } from '../../terminal/text.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { writing } from '../../write-fault.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { usageError } from '../exit.ts';
import { answerLines } from '../input/jsonl.ts';
import { messagesIn, openInput, readRequestFile } from '../input/request-file.ts';
import { measure } from '../optimize/measure.ts';
import { worthOf } from '../optimize/price.ts';
import { readReports } from '../optimize/report.ts';
import { REPORT_NOTE, reportJson, reportText } from '../optimize/report-view.ts';
import { outcomeDiff, outcomeJson, outcomeTable, summary } from '../optimize/view.ts';
import { readSettings } from '../settings.ts';

interface Options {
  level?: OptimizerLevel;
  model?: string;
  diff?: boolean;
  output?: string;
  json?: boolean;
  jsonl?: boolean;
}

export const optimize: SetUp = (command, context) => {
  command
    .argument('[file]', 'JSON file with a request, or with its array of messages; - is stdin')
    .addOption(
      new Option('--level <level>', 'compression level (default: the configured one, or safe)').choices(
        OPTIMIZER_LEVELS,
      ),
    )
    .option('--model <name>', "model to price the savings at (default: the request's)")
    .option('--diff', 'show the changes in each message (default without --output)')
    .option('--no-diff', 'show only the figures')
    .option('--output <file>', 'write the compressed request to this file; - is stdout')
    .option('--json', 'print JSON')
    .addOption(
      new Option(
        '--jsonl',
        'for each input line {"id","messages"}, print {"id","messages"} compressed',
      ).conflicts(['model', 'diff', 'output', 'json']),
    )
    .addHelpText('after', '\nNothing is sent. To set the level: gw config set optimizer.level balanced')
    .action((file: string | undefined, options: Options) => run(context, file, options));
  command
    .command('report')
    .description('show whether compression pays: what compressed and held-out conversations cost')
    .option('-p, --project <name>', 'only this project')
    .option('--json', 'print JSON')
    .action((_options: object, subcommand: Command) => report(context, subcommand.optsWithGlobals()));
};

async function report(
  context: Context,
  { project, json }: { project?: string; json?: boolean },
): Promise<void> {
  const { settings } = readSettings(context);
  const holdout = settings['optimizer.holdout'];
  const reports = await readReports(context, project);
  if (json) {
    sayJson(context, { holdout_percent: holdout, projects: reports.map(reportJson) });
    return;
  }
  if (reports.length === 0) {
    say(context, 'Not enough data yet: no request had a prompt of 500 or more tokens.');
    return;
  }
  const terminal = terminalOf(context.stdout, context.env);
  const time = createTimeFormat(settings.timezone);
  for (const each of reports) say(context, `${reportText(each, { terminal, time, holdout })}\n`);
  say(context, wrap(REPORT_NOTE, terminal.columns).map(terminal.palette.dim).join('\n'));
}

async function run(context: Context, file: string | undefined, options: Options): Promise<void> {
  const level = options.level ?? levelInForce(context);
  if (options.jsonl) await compressLines(context, file, level);
  else if (file !== undefined) await compressFile(context, file, { ...options, level });
  else
    throw usageError(
      'missing file. For example: gw optimize request.json   or: gw optimize - < request.json',
    );
}

/** The configured level; `safe` when the optimizer is off, to show what it would do. */
function levelInForce(context: Context): OptimizerLevel {
  const level = readSettings(context).settings['optimizer.level'];
  return level === 'off' ? 'safe' : level;
}

async function compressLines(
  context: Context,
  file: string | undefined,
  level: OptimizerLevel,
): Promise<void> {
  await answerLines(context, openInput(context, file), ({ id, messages }) => ({
    id,
    messages: compress(messagesIn(messages, 'the line'), { level }).messages,
  }));
}

async function compressFile(
  context: Context,
  file: string,
  { level, model, diff, output, json }: Options & { level: OptimizerLevel },
): Promise<void> {
  if (json && output === '-')
    throw usageError('--json and --output - both write to stdout. Give --output a file');
  const request = await readRequestFile(context, file);
  const name = model ?? request.model;
  const outcome = measure(request, { level, model: name });
  const worth = name === undefined ? undefined : await worthOf(context, name, outcome);
  // If stdout carries the request, the report goes to stderr.
  const [stream, print] = output === '-' ? [context.stderr, note] : [context.stdout, say];
  if (output === '-') context.stdout.write(outcome.body);
  else if (output !== undefined) writing(output, () => writeFileSync(output, outcome.body, { mode: 0o600 }));
  if (json) {
    sayJson(context, outcomeJson(outcome, worth));
    return;
  }
  const terminal = terminalOf(stream, context.env);
  print(context, outcomeTable(outcome, terminal));
  const showsDiff = diff ?? output === undefined;
  if (showsDiff && outcome.tokensBefore > outcome.tokensAfter) print(context, outcomeDiff(outcome, terminal));
  print(context, `\n${summary(outcome, worth)}`);
}
