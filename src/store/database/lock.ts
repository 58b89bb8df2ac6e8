import { closeSync, existsSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { writeFault, writing } from '../../write-fault.ts';

/** An exclusive lock on a file that the operating system frees when its holder dies, however it dies. */
export interface FileLock {
  release(): void;
}

/**
 * Takes the lock; undefined if another process (or another part of this one) has it. Whoever takes it keeps the
 * result: a lock that is garbage is freed.
 */
export function acquireLock(path: string): FileLock | undefined {
  // Never opened but by SQLite once it exists: closing any descriptor of a file frees this process's locks on it.
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
