import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { Option } from 'commander';
import type { Agent } from '../../agents/agent.ts';
import { agentOf, type FoundAgent, findAgent } from '../../agents/find.ts';
import { RUN_KEY } from '../../agents/run/environment.ts';
import type { Pointing, Start } from '../../agents/run/start.ts';
import { AGENTS } from '../../agents/table.ts';
import { systemRandom } from '../../ids.ts';
import { makeDirectory } from '../../paths.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/projects.ts';
import { acquireLock } from '../../store/database/lock.ts';
import { writing } from '../../write-fault.ts';
import {
  bypassedSince,
  bypassedText,
  readCaps,
  readWindowShare,
  startCappedRun,
} from '../client/capped-run.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import { clientVariables, googleVariables, warnOfForeignKeys } from '../client/variables.ts';
import type { SetUp } from '../command.ts';
import { checkSubscription, ownApisReached, realFiles } from '../connect/agents.ts';
import { type Context, homeOf, note } from '../context.ts';
import { expectedOrigin } from '../daemon/find.ts';
import { startDaemon } from '../daemon/start.ts';
import { CliError, Exit, usageError } from '../exit.ts';
import { readLabel } from '../input/labels.ts';
import { findProgram } from '../invocation.ts';
import { remoteDestination, remoteOf } from '../remote/connection.ts';
import { withStore } from '../with-store.ts';

export const run: SetUp = (command, context) =>
  command
    .argument('<command...>', 'command to run, with its arguments')
    .usage('[options] -- <command...>')
    .option('-p, --project <name>', 'project to charge (default: default)')
    .option('--budget <amount>', 'cap what this run may spend, in dollars')
    .option('--alert <percent>', 'percentage of the cap that sends the alert (default: 80)')
    .option('--max-rate <amount/time>', 'cap it in a sliding window too: 2/hour, 0.50/10m')
    .option(
      '--window-share <percent>',
      "share of a subscription's windows that this run may use, such as 10%",
    )
    .option('--label <name=value>', 'label its requests: customer=acme; repeatable', readLabel)
    .option('--anyway', 'run an agent that is known to go around gw')
    .option('--subscription', 'let Claude Code or Codex use its own login; no budget counts its requests')
    .addOption(new Option('--within', 'started by a run of gw, whose key it uses').hideHelp())
    .passThroughOptions()
    .addHelpText(
      'after',
      "\nKnows the common coding agents, and points each at gw in the way that beats its own settings.\nStarts gw if it is not running. Exits with the command's exit code.",
    )
    .action(async (words, options) => {
      const caps = readCaps(options);
      const remote = remoteOf(context);
      const { label: labels } = options;
      if (remote && labels)
        throw usageError(
          `a run's labels work with the gw of this machine only. At ${remote.gateway.url}, send the header x-service-labels`,
        );
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
      const windowSharePpm = readWindowShare(options.windowShare, subscription);
      if (found) {
        // Before anything is started. The key makes no difference here.
        const origin = remote?.gateway.url ?? (await expectedOrigin(context));
        const pointing = pointAgent(context, { words, found }, { origin, key: '', folder: '', subscription });
        refuseBypass(context, found, { pointing, anyway: options.anyway ?? false });
      }
      const outerKey = options.within ? context.env[RUN_KEY] : undefined;
      const away = remote && (await remoteDestination(remote, options.project));
      const origin = away?.origin ?? (await startedOrigin(context));
      if (outerKey === undefined)
        warnOfForeignKeys(context, found ? {} : googleVariables({ origin, key: '' }, context.env));
      // Shorter than other ids: it stands in lists of budgets.
      const id = `run_${systemRandom(6).toString('hex')}`;
      const folder = openRunFolder(context.paths.home, id, context.clock.now());
      try {
        const { project = DEFAULT_PROJECT, anyway = false } = options;
        const capped =
          caps.length > 0 || labels || windowSharePpm !== undefined
            ? await startCappedRun(context, {
                ...{ id, project, caps, labels, windowSharePpm },
                lockPath: folder.lockPath,
              })
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
          throw new Exit(
            await runProgram(context, { words, found, origin, folder, path, subscription }, key),
          );
        } finally {
          const bypassed = found ? await bypassedSince(context, found.agent, since) : 0;
          if (capped) await capped.end(bypassed);
          else if (bypassed > 0) note(context, `warning: ${bypassedText(bypassed)}. See: gw coverage`);
        }
      } finally {
        folder.remove();
      }
    });

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
  if (!found) return runChild([...words], { ...variables, ...googleVariables({ origin, key }, context.env) });
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

/** How the agent in a command line is started for a run through gw. The run's folder need not exist yet. */
function pointAgent(
  context: Context,
  { words, found }: { words: readonly string[]; found: FoundAgent },
  access: Pick<Start, 'origin' | 'key' | 'subscription' | 'folder'>,
): Pointing {
  return found.agent.pointRun({
    ...access,
    ownApis: ownApisReached(context, access),
    args: words.slice(found.words),
    env: context.env,
    cwd: process.cwd(),
    home: homeOf(context),
    platform: process.platform,
    files: realFiles,
  });
}

/** Refuses a run that is known to go around gw; with `anyway`, warns. */
function refuseBypass(
  context: Context,
  { agent }: FoundAgent,
  { pointing, anyway }: { pointing: Pointing; anyway: boolean },
): void {
  const { bypass } = pointing;
  if (!bypass) return;
  const what = `${agent.title} would go around gw: ${bypass.reason}.`;
  if (anyway) {
    note(context, `warning: ${what} Its requests may be neither counted nor capped`);
    return;
  }
  throw new CliError(
    `${what}\n  ${bypass.remedy}\n  To run it all the same, uncounted: gw run --anyway -- ...`,
  );
}

/** Exit codes of a shell for a command that does not exist or cannot be executed. */
const NOT_FOUND = 127;
const NOT_ALLOWED = 126;
const SIGNAL_BASE = 128;

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGCONT'] as const;

/**
 * Runs a command on the streams of this process and forwards signals to it. Returns its exit code, or 128 plus the
 * number of the signal that ended it.
 */
function runChild(
  [command = '', ...args]: string[],
  env: Record<string, string | undefined>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let child: ChildProcess | undefined;
    const forward = (signal: NodeJS.Signals) => {
      // A terminal sends Ctrl-C to the whole process group, so the child already has it.
      if (!(process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT'))) child?.kill(signal);
    };
    // Before the spawn: a signal in between would end only this process.
    for (const signal of FORWARDED) process.on(signal, forward);
    const done = (settle: () => void) => {
      for (const signal of FORWARDED) process.off(signal, forward);
      settle();
    };
    child = spawn(command, args, { stdio: 'inherit', env });
    child.on('error', (error: NodeJS.ErrnoException) => done(() => reject(startFailure(command, error))));
    child.on('exit', (code, signal) =>
      done(() => resolve(signal === null ? (code ?? 1) : SIGNAL_BASE + constants.signals[signal])),
    );
  });
}

function startFailure(command: string, error: NodeJS.ErrnoException): CliError {
  if (error.code === 'ENOENT') return new CliError(`command not found: ${command}`, NOT_FOUND);
  return new CliError(`cannot run "${command}": ${error.message}`, NOT_ALLOWED);
}

/** Programs of a run that stand before agents on the PATH. */
interface Shims {
  names: readonly string[];
  /** The PATH that finds them first. */
  path: string | undefined;
}

/**
 * Puts a script before each installed agent but `except` on the PATH, which starts that agent by `gw run --within`: so that one which
 * a script or `make` starts is pointed at gw as if it had been named. Windows has none.
 */
function writeShims(
  context: Context,
  folder: RunFolder,
  { except, anyway }: { except: Agent | undefined; anyway: boolean },
): Shims {
  const { env, paths, program } = context;
  if (process.platform === 'win32') return { names: [], path: env.PATH };
  // Those of a run around this one would start the agent through gw once more.
  const own = join(paths.home, 'runs');
  const folders = (env.PATH ?? '').split(delimiter).filter((each) => !each.startsWith(own));
  const path = folders.join(delimiter);
  const start = [process.execPath, program, 'run', '--within', ...(anyway ? ['--anyway'] : []), '--'];
  const names: string[] = [];
  for (const agent of AGENTS) {
    if (agent === except) continue;
    for (const name of agent.binaries) {
      const real = findProgram([name], { PATH: path });
      if (real === undefined) continue;
      folder.writeProgram(
        `bin/${name}`,
        `#!/bin/sh\nexec ${[...start, real].map(singleQuoted).join(' ')} "$@"\n`,
      );
      names.push(name);
    }
  }
  return { names, path: names.length === 0 ? path : [join(folder.path, 'bin'), ...folders].join(delimiter) };
}

const SHELL = /(?:^|\/)(?:ba|da|z|k|fi)?sh$/;

/** `-l`, `-lc` or `--login` of a shell. */
function asksForLogin(word: string): boolean {
  return word === '--login' || (/^-[a-z]+$/.test(word) && word.includes('l'));
}

/** Warns of agents in the text of a command that are started where no script of gw stands before them. */
function warnOfHiddenAgents(context: Context, words: readonly string[], { names }: Shims): void {
  // Its profile may put the folders of agents before gw's.
  const isLogin = SHELL.test(words[0] ?? '') && words.some(asksForLogin);
  const isCovered = (word: string) => !isLogin && names.includes(word);
  const titles = words
    .filter((word) => /\s/.test(word) || SHELL.test(words[0] ?? ''))
    .flatMap((text) => text.split(/[\s;&|()'"`]+/))
    .filter((word) => !isCovered(word))
    .flatMap((word) => agentOf(word)?.title ?? []);
  for (const title of new Set(titles)) {
    note(
      context,
      `warning: ${title} may go around gw, as the command starts it in a way that gw can't change. Put gw before it: gw run -- AGENT`,
    );
  }
}

/** A folder for the files of one run, and a lock that says whether the run is alive. */
interface RunFolder {
  path: string;
  /** Locked while the run lives. */
  lockPath: string;
  write(pointing: Pick<Pointing, 'files' | 'links' | 'sessions'>): void;
  /** Writes a script that can be started. */
  writeProgram(name: string, text: string): void;
  remove(): void;
}

/** Creates the folder (0700) in gw's state directory. Removes those of runs that were killed. */
function openRunFolder(home: string, runId: string, now: number): RunFolder {
  const runs = join(home, 'runs');
  makeDirectory(runs);
  for (const name of readdirSync(runs)) removeIfDead(join(runs, name), now);
  const path = join(runs, runId);
  makeDirectory(path);
  const lockPath = join(path, 'lock');
  const lock = acquireLock(lockPath);
  return {
    path,
    lockPath,
    write({ files = {}, links = {}, sessions }) {
      if (sessions !== undefined)
        writing(sessions, () => mkdirSync(sessions, { recursive: true, mode: 0o700 }));
      for (const [name, text] of Object.entries(files)) writeIn(path, name, { text, mode: 0o600 });
      for (const [name, target] of Object.entries(links)) symlinkSync(target, join(path, name));
    },
    writeProgram: (name, text) => writeIn(path, name, { text, mode: 0o700 }),
    remove() {
      lock?.release();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function writeIn(folder: string, name: string, { text, mode }: { text: string; mode: number }): void {
  const file = join(folder, name);
  writing(file, () => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode });
  });
}

/** A new folder is about to be locked. */
const MIN_AGE_MS = 60_000;

function removeIfDead(path: string, now: number): void {
  try {
    if (now - statSync(path).mtimeMs < MIN_AGE_MS) return;
    const lock = acquireLock(join(path, 'lock'));
    lock?.release();
    if (lock) rmSync(path, { recursive: true, force: true });
  } catch {
    // Another run has just removed it.
  }
}
