import { writeFileSync } from 'node:fs';
import { Option } from 'commander';
import { compress } from '../../compression/conversation/compress.ts';
import { OPTIMIZER_LEVELS, type OptimizerLevel } from '../../config/values.ts';
import { formatUsd, usdFields, usdNumber } from '../../money.ts';
import { MIN_HELD_OUT, rateOf, type TrialOutcome } from '../../store/optimizer/outcome.ts';
import type { Side, Verdict } from '../../store/optimizer/trials.ts';
import { count, percent, plural, tokens } from '../../terminal/numbers.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import { type Terminal, terminalOf } from '../../terminal/terminal.ts';
import { wrap } from '../../terminal/text.ts';
import { createTimeFormat, type TimeFormat } from '../../terminal/time.ts';
import { writing } from '../../write-fault.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp } from '../command.ts';
import { type Context, note, say, sayJson, screenOf } from '../context.ts';
import { usageError } from '../exit.ts';
import { answerLines } from '../input/jsonl.ts';
import { messagesIn, openInput, readRequestFile } from '../input/request-file.ts';
import { measure, outcomeDiff, outcomeJson, outcomeTable, summary, worthOf } from '../optimize/outcome.ts';
import { billWithout, type OptimizerReport, readReports, switchOn } from '../optimize/report.ts';
import { readSettings } from '../settings.ts';

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
    .option(...AS_JSON)
    .addOption(
      new Option(
        '--jsonl',
        'for each input line {"id","messages"}, print {"id","messages"} compressed',
      ).conflicts(['model', 'diff', 'output', 'json']),
    )
    .addHelpText('after', '\nNothing is sent. To set the level: gw config set optimizer.level balanced')
    .action(async (file, options) => {
      const level = options.level ?? levelInForce(context);
      if (options.jsonl)
        await answerLines(context, openInput(context, file), ({ id, messages }) => ({
          id,
          messages: compress(messagesIn(messages, 'the line'), { level }).messages,
        }));
      else if (file !== undefined) await compressFile(context, file, { ...options, level });
      else
        throw usageError(
          'missing file. For example: gw optimize request.json   or: gw optimize - < request.json',
        );
    });
  report(command, context);
};

const report: SetUp = (command, context) =>
  command
    .command('report')
    .description('show whether compression pays: what compressed and held-out conversations cost')
    .option(...ONLY_PROJECT)
    .option(...AS_JSON)
    .action(async (_options, subcommand) => {
      // `--json` is an option of `gw optimize` too, which takes it first.
      const { project, json }: { project?: string; json?: boolean } = subcommand.optsWithGlobals();
      const { settings } = readSettings(context);
      const holdout = settings['optimizer.holdout'];
      const reports = await readReports(context, project);
      if (json) return sayJson(context, { holdout_percent: holdout, projects: reports.map(reportJson) });
      if (reports.length === 0)
        return say(context, 'Not enough data yet: no request had a prompt of 500 or more tokens.');
      const terminal = screenOf(context);
      const time = createTimeFormat(settings.timezone);
      for (const each of reports) say(context, `${reportText(each, { terminal, time, holdout })}\n`);
      say(context, wrap(REPORT_NOTE, terminal.columns).map(terminal.palette.dim).join('\n'));
    });

/** The configured level; `safe` when the optimizer is off, to show what it would do. */
function levelInForce(context: Context): OptimizerLevel {
  const level = readSettings(context).settings['optimizer.level'];
  return level === 'off' ? 'safe' : level;
}

interface FileOptions {
  level: OptimizerLevel;
  model?: string;
  diff?: boolean;
  output?: string;
  json?: boolean;
}

async function compressFile(
  context: Context,
  file: string,
  { level, model, diff, output, json }: FileOptions,
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
  if (json) return sayJson(context, outcomeJson(outcome, worth));
  const terminal = terminalOf(stream, context.env);
  print(context, outcomeTable(outcome, terminal));
  const showsDiff = diff ?? output === undefined;
  if (showsDiff && outcome.tokensBefore > outcome.tokensAfter) print(context, outcomeDiff(outcome, terminal));
  print(context, `\n${summary(outcome, worth)}`);
}

interface Row {
  model: string;
  side: string;
  figures: Side;
}

const COLUMNS: Column<Row>[] = [
  { header: 'model', value: ({ model }) => model, shrinks: true },
  { header: 'prompts', value: ({ side }) => side },
  right('conversations', ({ figures }) => count(figures.conversations)),
  right('requests', ({ figures }) => count(figures.requests)),
  right('tokens', ({ figures }) => tokens(figures.originalTokens)),
  right('billed', ({ figures }) => formatUsd(figures.costNanoUsd)),
  right('per 1M', ({ figures }) => perMillion(figures)),
];

/** The report of a trial: a table, then the verdict in words. */
function reportText(
  { project, level, outcome, switchedOff }: OptimizerReport,
  { terminal, time, holdout }: { terminal: Terminal; time: TimeFormat; holdout: number },
): string {
  const title = terminal.palette.bold(`Optimizer, project ${project}, level ${level}`);
  const rows = outcome.models.flatMap(({ model, treated, heldOut }) => [
    { model, side: 'compressed', figures: treated },
    { model: '', side: 'held out', figures: heldOut },
  ]);
  const figures = rows.length > 0 ? ['', ...table(rows, COLUMNS, { terminal })] : [];
  const words = switchedOff ? offText(project, switchedOff, time) : verdictText(outcome, level, holdout);
  return [title, ...figures, '', words].join('\n');
}

/** Explains the figures; printed once below all reports. */
const REPORT_NOTE =
  'Billed is everything that providers charged for these requests, including output, cache reads and cache writes. Tokens are those of the original conversations, estimated the same way on both sides.';

function offText(project: string, verdict: Verdict, time: TimeFormat): string {
  const { at, savedNanoUsd, marginNanoUsd, treatedConversations, heldOutConversations } = verdict;
  return [
    `Switched off automatically at ${time.dateTime(at)}: compressing cost ${formatUsd(-savedNanoUsd)} more than it saved, give or take`,
    `${formatUsd(marginNanoUsd)}, over ${plural(treatedConversations, 'conversation')} against ${count(heldOutConversations)} held out.`,
    `To switch it on again: ${switchOn(project)}`,
  ].join('\n');
}

function verdictText(outcome: TrialOutcome, level: string, holdout: number): string {
  if (level === 'off') return 'The optimizer is off.';
  const { verdict, savedNanoUsd: saved, marginNanoUsd, heldOutConversations } = outcome;
  const figure = `${formatUsd(Math.abs(saved))}, give or take ${formatUsd(marginNanoUsd)} (95% confidence)`;
  switch (verdict) {
    case 'too_few':
      if (holdout === 0) return 'Nothing to compare with: optimizer.holdout is 0, so no prompt is held out.';
      return `Not enough data yet: ${count(heldOutConversations)} of at least ${MIN_HELD_OUT} held-out conversations, of models with 5 or more on both sides.\n${holdout}% of conversations are held out (optimizer.holdout).`;
    case 'saves':
      return `It pays: compressing saved ${figure}, ${percent(saved / billWithout(outcome))} of the bill.`;
    case 'costs':
      return `It does not pay: compressing cost ${figure} more than it saved. gw switches it off once that is certain.`;
    case 'unclear':
      return `No clear difference: compressing ${saved < 0 ? 'cost' : 'saved'} ${figure}.`;
  }
}

function perMillion(side: Side): string {
  return side.originalTokens > 0 ? formatUsd(Math.round(rateOf(side) * 1e6)) : '-';
}

function reportJson({ project, level, outcome, switchedOff }: OptimizerReport): Record<string, unknown> {
  return {
    project_id: project,
    level,
    verdict: outcome.verdict,
    ...amounts(outcome),
    treated_conversations: outcome.treatedConversations,
    held_out_conversations: outcome.heldOutConversations,
    needed_held_out_conversations: MIN_HELD_OUT,
    models: outcome.models.map(({ model, isCompared, treated, heldOut }) => ({
      model,
      is_compared: isCompared,
      treated: sideJson(treated),
      held_out: sideJson(heldOut),
    })),
    switched_off: switchedOff
      ? {
          at: new Date(switchedOff.at).toISOString(),
          ...amounts(switchedOff),
          treated_conversations: switchedOff.treatedConversations,
          held_out_conversations: switchedOff.heldOutConversations,
          switch_on: switchOn(project),
        }
      : null,
  };
}

function amounts({ savedNanoUsd, marginNanoUsd }: Pick<Verdict, 'savedNanoUsd' | 'marginNanoUsd'>): object {
  return {
    ...usdFields('saved', savedNanoUsd),
    ...usdFields('margin', marginNanoUsd),
  };
}

function sideJson(side: Side): Record<string, number | null> {
  return {
    conversations: side.conversations,
    requests: side.requests,
    original_tokens: side.originalTokens,
    ...usdFields('billed', side.costNanoUsd),
    usd_per_million_tokens: side.originalTokens > 0 ? usdNumber(Math.round(rateOf(side) * 1e6)) : null,
  };
}
