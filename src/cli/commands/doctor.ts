import { plural } from '../../terminal/numbers.ts';
import { pasteable } from '../../terminal/pasteable.ts';
import { type Terminal, terminalOf } from '../../terminal/terminal.ts';
import { pad, wrap } from '../../terminal/text.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, sayJson, tell } from '../context.ts';
import { checkAgents } from '../doctor/agents.ts';
import type { Finding } from '../doctor/check.ts';
import { checkClock, checkTimezone } from '../doctor/clock.ts';
import { checkDaemon } from '../doctor/daemon.ts';
import { checkDatabase, checkDatabaseFile, longCheckMessage } from '../doctor/database.ts';
import { checkDatabaseSize } from '../doctor/database-size.ts';
import { checkDisk, checkKeyFiles, checkPermissions } from '../doctor/files.ts';
import { checkHolds, checkReports, switchBoundsOn } from '../doctor/holds.ts';
import { checkInstall, checkNode, checkPath } from '../doctor/install.ts';
import { checkOptimizer } from '../doctor/optimizer.ts';
import { checkPrices } from '../doctor/prices.ts';
import { checkProviders } from '../doctor/providers.ts';
import { checkSettings } from '../doctor/settings.ts';
import { restoreTerminal } from '../doctor/terminal.ts';
import { CliError } from '../exit.ts';

interface Options {
  fix?: boolean;
  quick?: boolean;
  trustBounds?: boolean;
  json?: boolean;
}

export const doctor: SetUp = (command, context) => {
  command
    .option('--fix', 'fix file permissions, and reset a terminal that a killed dashboard left behind')
    .option('--quick', 'skip the integrity check of the database, which is slow for a large one')
    .option('--trust-bounds', 'use bounds of holds again that a provider has exceeded')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExits with code 1 if anything is broken.')
    .action((options: Options) => run(context, options));
};

async function run(context: Context, { fix, quick = false, trustBounds, json }: Options): Promise<void> {
  if (trustBounds) note(context, `Switched ${plural(await switchBoundsOn(context), 'bound')} on again.`);
  if (fix) {
    restoreTerminal(context);
    for (const finding of checkPermissions(context.paths)) finding.fix?.();
  }
  const findings = await examine(context, quick);
  if (json) sayJson(context, findings.map(findingJson));
  else {
    const terminal = terminalOf(context.stdout, context.env);
    tell(
      context,
      findings.map((finding) => findingText(finding, { ...terminal, gw: context.gw })).join('\n'),
    );
  }
  const faults = findings.filter(({ state }) => state === 'broken').length;
  if (faults > 0) throw new CliError(`${plural(faults, 'problem')} to fix`);
}

async function examine(context: Context, quick: boolean): Promise<Finding[]> {
  const { paths } = context;
  const warning = quick || !context.stderr.isTTY ? undefined : longCheckMessage(paths);
  if (warning !== undefined) note(context, warning);
  const database = (await checkDatabaseFile(paths)) ?? checkDatabase(paths, { quick });
  return [
    checkNode(),
    await checkInstall(context),
    checkPath(context),
    ...checkPermissions(paths),
    ...checkKeyFiles(paths),
    ...checkSettings(context),
    checkDisk(paths),
    database,
    ...(database.state === 'ok' ? [checkDatabaseSize(context)] : []),
    await checkDaemon(context),
    ...(await checkProviders(context)),
    checkPrices(context),
    // Compares the clock with the latest request in the database.
    ...(database.state === 'ok'
      ? [
          await checkClock(context),
          ...(await checkOptimizer(context)),
          ...(await checkHolds(context)),
          ...(await checkReports(context)),
          ...(await checkAgents(context)),
        ]
      : []),
    checkTimezone(context),
  ];
}

const MARKS = { ok: 'ok', warning: '!', broken: 'X' } as const;

const INDENT = 17;

function findingText(
  { name, state, message, mend }: Finding,
  { palette, columns, gw }: Pick<Terminal, 'palette' | 'columns'> & Pick<Context, 'gw'>,
): string {
  const mark = pad(MARKS[state], 3);
  const painted =
    state === 'ok' ? palette.accent(mark) : state === 'broken' ? palette.bad(mark) : palette.warn(mark);
  const below = `\n${' '.repeat(INDENT)}`;
  const line = `${painted} ${palette.bold(pad(name, 12))} ${wrap(pasteable(message, gw), columns - INDENT).join(below)}`;
  // Commands are not wrapped, so that they can be pasted.
  return mend === undefined ? line : `${line}${below}${palette.dim('to fix:')} ${mend}`;
}

function findingJson({ name, state, message, mend }: Finding): Record<string, unknown> {
  return { name, state, message, mend: mend ?? null };
}
