import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, join, relative } from 'node:path';
import { orElse } from '../errors.ts';
import { shellQuoted } from '../shell-quoted.ts';

interface InvocationContext {
  env: Readonly<Record<string, string | undefined>>;
  /** Path of the executable. */
  program: string;
}

/** Whether a shell finds a command named gw. */
export const isOnPath = (context: Pick<InvocationContext, 'env'>): boolean => onPath(context) !== undefined;

/** How to type gw in any directory: `gw` if the shell finds this one, else its absolute path. */
export function invocation(context: InvocationContext): string {
  const path = onPath(context);
  return path !== undefined && isSame(path, context.program) ? 'gw' : shellQuoted(context.program);
}

/** How to type gw in `directory`: `gw`, or the path of a checkout's executable. */
export function invocationFrom(directory: string, context: InvocationContext): string {
  if (invocation(context) === 'gw') return 'gw';
  const path = relative(directory, context.program);
  return shellQuoted(path.startsWith('..') ? context.program : `./${path}`);
}

function onPath({ env }: Pick<InvocationContext, 'env'>): string | undefined {
  const files = (env.PATH ?? '').split(':').map((folder) => join(folder, 'gw'));
  return files.find(isProgram);
}

/** False for a checkout that runs next to an installed gw. */
function isSame(path: string, program: string): boolean {
  return orElse(() => realpathSync(path) === realpathSync(program), false);
}

/** The path of the first of these programs that a shell would find; undefined if there is none. */
export function findProgram(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const extensions = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return names
    .flatMap((name) => folders.flatMap((folder) => extensions.map((end) => join(folder, name + end))))
    .find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
