import { findAgent } from '../../agents/find.ts';
import { newId } from '../../ids.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/project.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import { pointAgent, refuseBypass } from '../client/point-agent.ts';
import { runChild } from '../client/run-child.ts';
import { openRunFolder } from '../client/run-folder.ts';
import { clientVariables } from '../client/variables.ts';
import { warnOfForeignKeys } from '../client/warn-of-foreign-keys.ts';
import type { SetUp } from '../command.ts';
import { type Context, note } from '../context.ts';
import { findDaemon, originOf } from '../daemon/find.ts';
import { startDaemon } from '../daemon/start.ts';
import { Exit } from '../exit.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

interface Options {
  project: string;
  anyway?: boolean;
}

export const run: SetUp = (command, context) => {
  command
    .argument('<command...>', 'command to run, with its arguments')
    .usage('[options] -- <command...>')
    .option('-p, --project <name>', 'project to charge', DEFAULT_PROJECT)
    .option('--anyway', 'run an agent that is known to go around gw')
    .passThroughOptions()
    .addHelpText(
      'after',
      "\nKnows the common coding agents, and points each at gw in the way that beats its own settings.\nStarts gw if it is not running. Exits with the command's exit code.",
    )
    .action((words: string[], options: Options) => runWith(context, words, options));
};

async function runWith(context: Context, words: string[], options: Options): Promise<void> {
  const { project, anyway = false } = options;
  const runId = newId('run');
  const found = findAgent(words);
  if (found) {
    // Before anything is started. The key makes no difference here.
    const access = { origin: await expectedOrigin(context), key: '', folder: '' };
    refuseBypass(context, found, { pointing: pointAgent(context, { words, found }, access), anyway });
  }
  const { daemon, already } = await startDaemon(context);
  if (!already) note(context, `Started gw in the background. To stop it: gw stop`);
  const key = await withStore(context, (db) => cliKeyOf(context, db, project));
  warnOfForeignKeys(context);
  const variables = { ...context.env, ...clientVariables({ origin: daemon.origin, key }, context.env) };
  if (!found) throw new Exit(await runChild(words, variables));
  const folder = openRunFolder(context.paths.home, runId, context.clock.now());
  try {
    const access = { origin: daemon.origin, key, folder: folder.path };
    const pointing = pointAgent(context, { words, found }, access);
    folder.write(pointing);
    for (const text of pointing.notes ?? []) note(context, `${found.agent.name}: ${text}`);
    const program = words.slice(0, found.words);
    throw new Exit(await runChild([...program, ...pointing.args], { ...variables, ...pointing.env }));
  } finally {
    folder.remove();
  }
}

/** Where gw runs, or will. */
async function expectedOrigin(context: Context): Promise<string> {
  const state = await findDaemon(context);
  if (state.kind === 'running') return state.daemon.origin;
  const { host, port } = readSettings(context).settings;
  return originOf(host, port);
}
