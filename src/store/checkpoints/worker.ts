import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { answerCalls } from '../../worker-calls.ts';

export interface CheckpointRequest {
  /** The database; the same in each call. */
  path: string;
  /** Detects that the file was replaced: the new database must not share a log with the old one. */
  inode: number;
  /** Whether to block the transactions of other processes too. */
  alone: boolean;
}

/** How long to wait for another process's transaction or report. */
const BUSY_TIMEOUT_MS = 20;

let db: Database.Database | undefined;

/** The thread behind `createCheckpoints`. */
answerCalls(({ path, inode, alone }: CheckpointRequest): void => {
  db ??= open(path, inode);
  db.pragma(`wal_checkpoint(${alone ? 'FULL' : 'PASSIVE'})`);
});

function open(path: string, inode: number): Database.Database {
  if (statSync(path).ino !== inode) throw new Error(`${path} is another file than it was`);
  return new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
}
