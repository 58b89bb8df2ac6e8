import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** As long as names in the database may be. */
const MAX_LENGTH = 200;

/**
 * The git repository that a directory is in, as the path of its main working tree; empty without one. The worktrees
 * of a repository are one repository: https://git-scm.com/docs/gitrepository-layout
 */
export function repositoryOf(directory: string): string {
  // Which realpath takes for the directory of gw itself.
  if (directory === '') return '';
  try {
    return findAbove(realpathSync(directory)).slice(0, MAX_LENGTH);
  } catch {
    return '';
  }
}

function findAbove(start: string): string {
  for (let directory = start; ; directory = dirname(directory)) {
    const stat = statSync(join(directory, '.git'), { throwIfNoEntry: false });
    if (stat?.isDirectory()) return directory;
    if (stat?.isFile()) return mainTreeOf(directory);
    if (directory === dirname(directory)) return '';
  }
}

/** Of a worktree, whose `.git` is a file that names its part of the repository. A submodule stands for itself. */
function mainTreeOf(directory: string): string {
  const gitDirectory = /^gitdir: (.+)$/m.exec(readFileSync(join(directory, '.git'), 'utf8'))?.[1];
  if (gitDirectory === undefined) return directory;
  const own = resolve(directory, gitDirectory.trim());
  const shared = join(own, 'commondir');
  if (!statSync(shared, { throwIfNoEntry: false })) return directory;
  const repository = resolve(own, readFileSync(shared, 'utf8').trim());
  return basename(repository) === '.git' ? dirname(repository) : repository;
}
