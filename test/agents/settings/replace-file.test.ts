import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  FileChanged,
  makeFolderOf,
  readBytes,
  removeEmptyFolders,
  replaceFile,
} from '../../../src/agents/settings/replace-file.ts';
import { tmpHome } from '../../support/tmp-home.ts';

const OLD = Buffer.from('old');
const NEW = Buffer.from('new');
const BUILT = new URL('../../../dist/agents/settings/replace-file.js', import.meta.url).href;
const isRoot = process.getuid?.() === 0;

describe('replaceFile()', () => {
  test('replaces the bytes, and keeps mode and owner', () => {
    const file = join(tmpHome(), 'settings.json');
    writeFileSync(file, OLD);
    chmodSync(file, 0o640);
    if (isRoot) chownSync(file, 1234, 2345);
    const { uid, gid } = statSync(file);
    replaceFile(file, { expected: OLD, bytes: NEW });
    expect(readFileSync(file)).toEqual(NEW);
    expect(statSync(file)).toMatchObject({ uid, gid });
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  test('makes a file that only its owner can read', () => {
    const file = join(tmpHome(), 'settings.json');
    replaceFile(file, { expected: undefined, bytes: NEW });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('writes the target of a chain of symbolic links, and keeps the links', () => {
    const home = tmpHome();
    mkdirSync(join(home, 'dotfiles'));
    const target = join(home, 'dotfiles', 'real.json');
    writeFileSync(target, OLD);
    symlinkSync('real.json', join(home, 'dotfiles', 'inner'));
    symlinkSync(join('dotfiles', 'inner'), join(home, 'settings.json'));
    replaceFile(join(home, 'settings.json'), { expected: OLD, bytes: NEW });
    expect(readFileSync(target)).toEqual(NEW);
    expect(lstatSync(join(home, 'settings.json')).isSymbolicLink()).toBe(true);
    expect(lstatSync(join(home, 'dotfiles', 'inner')).isSymbolicLink()).toBe(true);
    expect(readdirSync(home).sort()).toEqual(['dotfiles', 'settings.json']);
  });

  test('makes the target of a symbolic link that leads nowhere', () => {
    const home = tmpHome();
    symlinkSync('missing/real.json', join(home, 'settings.json'));
    expect(makeFolderOf(join(home, 'settings.json'))).toEqual([join(home, 'missing')]);
    replaceFile(join(home, 'settings.json'), { expected: undefined, bytes: NEW });
    expect(readFileSync(join(home, 'missing', 'real.json'))).toEqual(NEW);
  });

  test('refuses a file that has changed since it was read', () => {
    const file = join(tmpHome(), 'settings.json');
    writeFileSync(file, 'by somebody else');
    expect(() => replaceFile(file, { expected: OLD, bytes: NEW })).toThrow(FileChanged);
    expect(() => replaceFile(file, { expected: undefined, bytes: NEW })).toThrow(FileChanged);
    expect(() => replaceFile(file, { expected: OLD, bytes: undefined })).toThrow(FileChanged);
    expect(readFileSync(file, 'utf8')).toBe('by somebody else');
    expect(readdirSync(join(file, '..'))).toEqual(['settings.json']);
  });

  test.skipIf(isRoot)('refuses a file that its owner has made read-only', () => {
    const file = join(tmpHome(), 'settings.json');
    writeFileSync(file, OLD, { mode: 0o400 });
    expect(() => replaceFile(file, { expected: OLD, bytes: NEW })).toThrow('you may not write there');
  });

  test('removes what a killed process left beside the file, but not what a running one is writing', () => {
    const home = tmpHome();
    const file = join(home, 'settings.json');
    const gone = join(home, '.settings.json.gw-999999999');
    const running = join(home, `.settings.json.gw-${process.ppid}`);
    for (const each of [gone, running]) writeFileSync(each, 'half');
    replaceFile(file, { expected: undefined, bytes: NEW });
    expect(existsSync(gone)).toBe(false);
    expect(existsSync(running)).toBe(true);
  });

  test('kill -9 at any moment leaves the old bytes or the new ones', { timeout: 180_000 }, async () => {
    const file = join(tmpHome(), 'settings.json');
    const big = { a: Buffer.alloc(800_000, 'a'), b: Buffer.alloc(1_000_000, 'b') };
    writeFileSync(file, big.a);
    const seen = new Set<number>();
    for (let kills = 0; kills < 12; kills++) {
      const before = readFileSync(file);
      const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER, BUILT, file], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      // Each line is a write that has begun; the kill falls anywhere in those that follow.
      let lines = 0;
      child.stdout.on('data', (chunk: Buffer) => {
        lines += chunk.length;
        if (lines > kills) child.kill('SIGKILL');
      });
      await once(child, 'exit');
      const after = readFileSync(file);
      expect(after.equals(big.a) || after.equals(big.b)).toBe(true);
      seen.add(before.length + 2 * after.length);
    }
    expect(seen.size).toBeGreaterThan(1);
  });
});

/** Replaces the file again and again. */
const WRITER = `
  const { replaceFile, readBytes } = await import(process.argv[1]);
  const file = process.argv[2];
  const sides = [Buffer.alloc(800_000, 'a'), Buffer.alloc(1_000_000, 'b')];
  for (let i = 0; ; i++) {
    process.stdout.write('.\\n');
    const current = readBytes(file);
    replaceFile(file, { expected: current, bytes: sides.find((side) => !side.equals(current)) });
  }`;

describe('makeFolderOf() and removeEmptyFolders()', () => {
  test('make the missing folders, and remove those that are empty', () => {
    const home = tmpHome();
    const file = join(home, 'a', 'b', 'c', 'settings.json');
    const made = makeFolderOf(file);
    expect(made).toEqual([join(home, 'a', 'b', 'c'), join(home, 'a', 'b'), join(home, 'a')]);
    writeFileSync(join(home, 'a', 'other'), '');
    removeEmptyFolders(made);
    expect(readdirSync(home)).toEqual(['a']);
    expect(readdirSync(join(home, 'a'))).toEqual(['other']);
  });
});

test('readBytes() of a missing file is undefined', () => {
  expect(readBytes(join(tmpHome(), 'no', 'file'))).toBeUndefined();
});
