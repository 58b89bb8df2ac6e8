import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { answerCalls } from '../../worker-calls.ts';

export interface CheckpointRequest {
  /** The database; the same at each call. */
  path: string;
  /** Tells the database from another that was put in its place: the two must not share a log. */
  inode: number;
  /** Nothing is moved where fewer pages than this are left in the log. */
  from: number;
  /** Whether other processes' transactions are to wait as well. */
  alone: boolean;
}

/** How many pages of the write-ahead log were left to be moved into the database, and how many still are. */
export interface CheckpointAnswer {
  before: number;
  after: number;
}

/** How long a transaction or a report of another process is waited for. */
const BUSY_TIMEOUT_MS = 20;

let db: Database.Database | undefined;

/** The thread behind `createCheckpoints`. */
answerCalls(({ path, inode, from, alone }: CheckpointRequest): CheckpointAnswer => {
  db ??= open(path, inode);
  const before = left(db, 'NOOP');
  return { before, after: before < from ? before : left(db, alone ? 'FULL' : 'PASSIVE') };
});

function open(path: string, inode: number): Database.Database {
  if (statSync(path).ino !== inode) throw new Error(`${path} is another file than it was`);
  return new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
}

function left(database: Database.Database, mode: 'NOOP' | 'PASSIVE' | 'FULL'): number {
  const [row] = database.pragma(`wal_checkpoint(${mode})`) as { log: number; checkpointed: number }[];
  return row ? Math.max(0, row.log - row.checkpointed) : 0;
}
