import { accessSync, constants, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Context } from './context.ts';

/** Whether a shell finds a command named gw. */
export function isOnPath({ env }: Pick<Context, 'env'>): boolean {
  return (env.PATH ?? '').split(':').some((folder) => isExecutable(join(folder, 'gw')));
}

/** What to type to run gw from `directory`: its name, or in a checkout the way to its file. */
export function invocationFrom(directory: string, context: Pick<Context, 'env' | 'program'>): string {
  if (isOnPath(context)) return 'gw';
  const path = relative(directory, context.program);
  return path.startsWith('..') ? context.program : `./${path}`;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
