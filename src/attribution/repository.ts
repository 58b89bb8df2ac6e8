import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { orElse } from '../errors.ts';

/** Maximum length of names in the database. */
const MAX_LENGTH = 200;

/**
 * The git repository that contains a directory, as the path of its main working tree; empty outside of a repository.
 * All worktrees count as one repository: https://git-scm.com/docs/gitrepository-layout
 */
export function repositoryOf(directory: string): string {
  // realpath resolves an empty path to gw's own working directory.
  if (directory === '') return '';
  return orElse(() => findAbove(realpathSync(directory)).slice(0, MAX_LENGTH), '');
}

function findAbove(start: string): string {
  for (let directory = start; ; directory = dirname(directory)) {
    const stat = statSync(join(directory, '.git'), { throwIfNoEntry: false });
    if (stat?.isDirectory()) return directory;
    if (stat?.isFile()) return mainTreeOf(directory);
    if (directory === dirname(directory)) return '';
  }
}

/**
 * The main working tree of a directory whose `.git` is a file, as in a worktree. A submodule is a separate repository.
 */
function mainTreeOf(directory: string): string {
  const gitDirectory = /^gitdir: (.+)$/m.exec(readFileSync(join(directory, '.git'), 'utf8'))?.[1];
  if (gitDirectory === undefined) return directory;
  const own = resolve(directory, gitDirectory.trim());
  const shared = join(own, 'commondir');
  if (!statSync(shared, { throwIfNoEntry: false })) return directory;
  const repository = resolve(own, readFileSync(shared, 'utf8').trim());
  return basename(repository) === '.git' ? dirname(repository) : repository;
}
