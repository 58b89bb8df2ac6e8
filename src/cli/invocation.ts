import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { shellQuoted } from '../shell-quoted.ts';

/** What tells how gw was started here. */
export interface Invoked {
  env: Readonly<Record<string, string | undefined>>;
  /** The file that was run. */
  program: string;
}

/** Whether a shell finds a command named gw. */
export function isOnPath(context: Pick<Invoked, 'env'>): boolean {
  return onPath(context) !== undefined;
}

/** What to type to run gw from anywhere: its name, or in a checkout its file. */
export function invocation(context: Invoked): string {
  const found = onPath(context);
  return found !== undefined && isSame(found, context.program) ? 'gw' : shellQuoted(context.program);
}

/** What to type to run gw from `directory`: its name, or in a checkout the way to its file. */
export function invocationFrom(directory: string, context: Invoked): string {
  if (invocation(context) === 'gw') return 'gw';
  const path = relative(directory, context.program);
  return shellQuoted(path.startsWith('..') ? context.program : `./${path}`);
}

function onPath({ env }: Pick<Invoked, 'env'>): string | undefined {
  const files = (env.PATH ?? '').split(':').map((folder) => join(folder, 'gw'));
  return files.find(isExecutable);
}

/** A checkout may be run beside an installed gw. */
function isSame(found: string, program: string): boolean {
  try {
    return realpathSync(found) === realpathSync(program);
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
