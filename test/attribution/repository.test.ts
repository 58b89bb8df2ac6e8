import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repositoryOf } from '../../src/attribution/repository.ts';
import { tmpHome } from '../support/tmp-home.ts';

function git(directory: string, ...args: string[]): void {
  const own = ['-c', 'user.name=t', '-c', 'user.email=t@example.com', '-c', 'init.defaultBranch=main'];
  execFileSync('git', [...own, ...args], { cwd: directory, stdio: 'ignore' });
}

function repository(): string {
  const root = join(realpathSync(tmpHome()), 'shop');
  mkdirSync(join(root, 'src/deep'), { recursive: true });
  git(root, 'init');
  git(root, 'commit', '--allow-empty', '-m', 'start');
  return root;
}

describe('repositoryOf()', () => {
  test('finds the repository above a directory', () => {
    const root = repository();
    expect(repositoryOf(root)).toBe(root);
    expect(repositoryOf(join(root, 'src/deep'))).toBe(root);
  });

  test('counts a worktree with its repository', () => {
    const root = repository();
    const tree = join(root, '../shop-feature');
    git(root, 'worktree', 'add', tree);
    expect(repositoryOf(tree)).toBe(root);
  });

  test('counts the worktree of a bare repository with that', () => {
    const root = repository();
    const bare = join(root, '../shop.git');
    git(join(root, '..'), 'clone', '--bare', root, bare);
    const tree = join(root, '../work');
    git(bare, 'worktree', 'add', tree);
    expect(repositoryOf(tree)).toBe(bare);
  });

  test('lets a submodule stand for itself', () => {
    const root = repository();
    const part = join(root, 'part');
    git(root, '-c', 'protocol.file.allow=always', 'submodule', 'add', repository(), 'part');
    expect(repositoryOf(part)).toBe(part);
  });

  test('finds none outside of one, nor in a directory that is gone', () => {
    const home = tmpHome();
    expect(repositoryOf(home)).toBe('');
    rmSync(home, { recursive: true });
    expect(repositoryOf(home)).toBe('');
    expect(repositoryOf('')).toBe('');
  });
});
