import { delimiter, join } from 'node:path';
import type { Agent } from '../../agents/agent.ts';
import { agentOf } from '../../agents/find.ts';
import { AGENTS } from '../../agents/table.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { findProgram } from '../connect/find-program.ts';
import { type Context, note } from '../context.ts';
import type { RunFolder } from './run-folder.ts';

/** Programs of a run that stand before agents on the PATH. */
export interface Shims {
  /** The names that they have. */
  names: readonly string[];
  /** The PATH that finds them first. */
  path: string | undefined;
}

interface ShimOptions {
  /** The agent that the run itself starts. */
  except: Agent | undefined;
  anyway: boolean;
}

/**
 * Puts a script before each installed agent on the PATH, which starts that agent by `gw run --within`: so that one which
 * a script or `make` starts is pointed at gw as if it had been named. Windows has none.
 */
export function writeShims(context: Context, folder: RunFolder, { except, anyway }: ShimOptions): Shims {
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
export function warnOfHiddenAgents(context: Context, words: readonly string[], { names }: Shims): void {
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
