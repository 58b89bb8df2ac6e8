import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { acquireLock } from '../../../src/store/database/lock.ts';
import { temporaryDirectory } from '../../support/simulator.ts';

const PROBE = `
  import Database from 'better-sqlite3';
  const db = new Database(process.argv[1], { timeout: 0 });
  try { db.exec('BEGIN EXCLUSIVE'); console.log('free'); } catch { console.log('held'); }`;

/** What another process finds. */
function seenFromOutside(path: string): string {
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', PROBE, path], {
    encoding: 'utf8',
  });
  return stdout.trim();
}

describe('acquireLock()', () => {
  test('keeps other processes out until it is released', () => {
    const path = join(temporaryDirectory(), 'daemon.lock');
    const lock = acquireLock(path);
    expect(lock).toBeDefined();
    expect(seenFromOutside(path)).toBe('held');
    lock?.release();
    expect(seenFromOutside(path)).toBe('free');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('refuses another part of this process, which does not lose the lock by that', () => {
    const path = join(temporaryDirectory(), 'daemon.lock');
    const lock = acquireLock(path);
    expect(acquireLock(path)).toBeUndefined();
    expect(seenFromOutside(path)).toBe('held');
    lock?.release();
    const again = acquireLock(path);
    expect(again).toBeDefined();
    again?.release();
  });

  test('does not take a file that is something else for a lock', () => {
    const path = join(temporaryDirectory(), 'notes.txt');
    writeFileSync(path, 'These are my notes, and there are a good many of them.\n'.repeat(100));
    expect(() => acquireLock(path)).toThrow('file is not a database');
  });
});
