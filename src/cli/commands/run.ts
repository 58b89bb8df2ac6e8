import { Option } from 'commander';
import { type FoundAgent, findAgent } from '../../agents/find.ts';
import { RUN_KEY } from '../../agents/run/key.ts';
import { systemRandom } from '../../ids.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { warnOfHiddenAgents, writeShims } from '../client/agent-shims.ts';
import { type CapOptions, readCaps, startCappedRun } from '../client/capped-run.ts';
import { checkSubscription } from '../client/check-subscription.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import { remoteDestination } from '../client/destination.ts';
import { pointAgent, refuseBypass } from '../client/point-agent.ts';
import { runChild } from '../client/run-child.ts';
import { openRunFolder, type RunFolder } from '../client/run-folder.ts';
import { clientVariables } from '../client/variables.ts';
import { warnOfForeignKeys } from '../client/warn-of-foreign-keys.ts';
import type { SetUp } from '../command.ts';
import { type Context, note } from '../context.ts';
import { bypassedSince, bypassedText } from '../coverage/run-bypass.ts';
import { expectedOrigin } from '../daemon/find.ts';
import { startDaemon } from '../daemon/start.ts';
import { Exit, usageError } from '../exit.ts';
import { remoteOf } from '../remote/connection.ts';
import { withStore } from '../with-store.ts';

interface Options extends CapOptions {
  project?: string;
  anyway?: boolean;
  subscription?: boolean;
  within?: boolean;
}

export const run: SetUp = (command, context) => {
  command
    .argument('<command...>', 'command to run, with its arguments')
    .usage('[options] -- <command...>')
    .option('-p, --project <name>', 'project to charge (default: default)')
    .option('--budget <amount>', 'cap what this run may spend, in dollars')
    .option('--alert <percent>', 'percentage of the cap that sends the alert (default: 80)')
    .option('--max-rate <amount/time>', 'cap it in a sliding window too: 2/hour, 0.50/10m')
    .option('--anyway', 'run an agent that is known to go around gw')
    .option('--subscription', 'let Claude Code or Codex use its own login; no budget counts its requests')
    .addOption(new Option('--within', 'started by a run of gw, whose key it uses').hideHelp())
    .passThroughOptions()
    .addHelpText(
      'after',
      "\nKnows the common coding agents, and points each at gw in the way that beats its own settings.\nStarts gw if it is not running. Exits with the command's exit code.",
    )
    .action((words: string[], options: Options) => runWith(context, words, options));
};

async function runWith(context: Context, words: string[], options: Options): Promise<void> {
  const caps = readCaps(options);
  const remote = remoteOf(context);
  if (remote && caps.length > 0) {
    throw usageError(
      `a run's own cap works with the gw of this machine only. At ${remote.gateway.url}, cap a project: gw budget set`,
    );
  }
  const found = findAgent(words);
  const { subscription = false } = options;
  if (subscription) {
    if (caps.length > 0)
      throw usageError(
        'a cap does not count what a subscription covers: leave out --budget, --max-rate or --subscription',
      );
    checkSubscription(context, found?.agent);
  }
  if (found) {
    // Before anything is started. The key makes no difference here.
    const origin = remote?.gateway.url ?? (await expectedOrigin(context));
    const pointing = pointAgent(context, { words, found }, { origin, key: '', folder: '', subscription });
    refuseBypass(context, found, { pointing, anyway: options.anyway ?? false });
  }
  const outerKey = options.within ? context.env[RUN_KEY] : undefined;
  const away = remote && (await remoteDestination(remote, options.project));
  const origin = away?.origin ?? (await startedOrigin(context));
  if (outerKey === undefined) warnOfForeignKeys(context);
  // Shorter than other ids: it stands in lists of budgets.
  const id = `run_${systemRandom(6).toString('hex')}`;
  const folder = openRunFolder(context.paths.home, id, context.clock.now());
  try {
    const { project = DEFAULT_PROJECT, anyway = false } = options;
    const capped =
      caps.length > 0
        ? await startCappedRun(context, { id, project, caps, lockPath: folder.lockPath })
        : undefined;
    const key =
      outerKey ??
      capped?.key ??
      away?.key ??
      (await withStore(context, (db) => cliKeyOf(context, db, project)));
    const path =
      outerKey === undefined ? pathOf(context, { words, found, folder, anyway }) : context.env.PATH;
    const since = context.clock.now();
    try {
      throw new Exit(await runProgram(context, { words, found, origin, folder, path, subscription }, key));
    } finally {
      const bypassed = found ? await bypassedSince(context, found.agent, since) : 0;
      if (capped) await capped.end(bypassed);
      else if (bypassed > 0) note(context, `warning: ${bypassedText(bypassed)}. See: gw coverage`);
    }
  } finally {
    folder.remove();
  }
}

/** The PATH of the run, with a script before each agent that the program may start. */
function pathOf(
  context: Context,
  { words, found, folder, anyway }: Pick<Program, 'words' | 'found' | 'folder'> & { anyway: boolean },
): string | undefined {
  const shims = writeShims(context, folder, { except: found?.agent, anyway });
  if (!found) warnOfHiddenAgents(context, words, shims);
  return shims.path;
}

interface Program {
  words: readonly string[];
  found: FoundAgent | undefined;
  origin: string;
  folder: RunFolder;
  path: string | undefined;
  subscription: boolean;
}

/** Runs the program with the key. Returns its exit code. */
function runProgram(
  context: Context,
  { words, found, origin, folder, path, subscription }: Program,
  key: string,
): Promise<number> {
  const own = { ...clientVariables({ origin, key }, context.env), [RUN_KEY]: key };
  const variables = { ...context.env, ...own, ...(path !== undefined && { PATH: path }) };
  if (!found) return runChild([...words], variables);
  const pointing = pointAgent(context, { words, found }, { origin, key, folder: folder.path, subscription });
  folder.write(pointing);
  for (const text of pointing.notes ?? []) note(context, `${found.agent.name}: ${text}`);
  return runChild([...words.slice(0, found.words), ...pointing.args], { ...variables, ...pointing.env });
}

/** Starts gw on this machine unless it runs. Returns its origin. */
async function startedOrigin(context: Context): Promise<string> {
  const { daemon, already } = await startDaemon(context);
  if (!already) note(context, `Started gw in the background. To stop it: gw stop`);
  return daemon.origin;
}
