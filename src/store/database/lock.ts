import { closeSync, existsSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { writeFault, writing } from '../../write-fault.ts';

/** An exclusive lock on a file, which the operating system releases when its holder dies. */
export interface FileLock {
  release(): void;
}

/**
 * Takes the lock; undefined if another process (or another part of this one) has it. Keep a reference to the result:
 * the lock is released when it is garbage-collected.
 */
export function acquireLock(path: string): FileLock | undefined {
  // Only SQLite opens the file once it exists: closing any descriptor of it releases this process's POSIX locks.
  if (!existsSync(path)) writing(path, () => closeSync(openSync(path, 'a', 0o600)));
  const db = new Database(path, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    if (error instanceof Error && (error as { code?: string }).code === 'SQLITE_BUSY') return undefined;
    throw writeFault(path, error);
  }
}

/** Whether nobody holds a lock. The check takes it for a moment. */
export function isLockFree(lockPath: string): boolean {
  if (!existsSync(lockPath)) return true;
  const lock = acquireLock(lockPath);
  lock?.release();
  return lock !== undefined;
}
