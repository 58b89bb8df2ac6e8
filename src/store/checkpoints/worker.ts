import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { answerCalls } from '../../worker-calls.ts';

export interface CheckpointRequest {
  /** The database; the same at each call. */
  path: string;
  /** Tells the database from another that was put in its place: the two must not share a log. */
  inode: number;
  /** Whether other processes' transactions are to wait as well. */
  alone: boolean;
}

/** How long a transaction or a report of another process is waited for. */
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
