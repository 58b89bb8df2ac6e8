import { statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';
import { type Db, LOG_PAGES } from '../database/open.ts';
import type { CheckpointRequest } from './worker.ts';

/** Checkpoints the write-ahead log in a thread, since each checkpoint waits some 20 ms for the disk. */
export type Checkpoints = ReturnType<typeof createCheckpoints>;

export interface CheckpointsOptions {
  /** The connection that writes. */
  db: Db;
  path: string;
  /** Pages in the log that start a checkpoint. */
  logPages?: number;
  /** Holds back transactions until the returned function is called. */
  pause: () => () => void;
  clock?: Clock;
  /** Writes to the daemon's log. */
  warn?: (message: string) => void;
  startWorker?: () => Worker;
}

/** Transactions between checks of the log's size; each writes 3 to 100 pages. */
const CHECK_EVERY = 32;
/** A checkpoint that takes longer hangs, and the thread is restarted. */
const MAX_CHECKPOINT_MS = 60_000;
/** The same limit while transactions wait. */
const MAX_PAUSE_MS = 5_000;

/**
 * SQLite restarts the log only once all of it has been checkpointed, which never happens while transactions keep
 * coming. So most of it is checkpointed beside them, and what they added meanwhile with transactions paused.
 */
export function createCheckpoints(options: CheckpointsOptions) {
  const { db, path, logPages = LOG_PAGES, pause, clock = systemClock } = options;
  const { warn = () => {}, startWorker = startCheckpointer } = options;
  const calls = createWorkerCalls<CheckpointRequest, void>({
    name: 'checkpointer',
    startWorker,
    clock,
  });
  const inode = statSync(path).ino;
  const readLog = db
    .prepare<[], [busy: number, log: number, checkpointed: number]>('PRAGMA wal_checkpoint(NOOP)')
    .raw();
  let commits = 0;
  let isRunning = false;
  let isClosed = false;
  setAutoCheckpoint(false);

  /** Whether SQLite checkpoints by itself, after a transaction that leaves a long log. */
  function setAutoCheckpoint(on: boolean): void {
    db.pragma(`wal_autocheckpoint = ${on ? logPages : 0}`);
  }

  /** Pages of the log that are not checkpointed. */
  function pagesLeft(): number {
    const [, log, checkpointed] = readLog.get() ?? [0, 0, 0];
    return log - checkpointed;
  }

  async function inThread(alone: boolean): Promise<void> {
    const limitMs = alone ? MAX_PAUSE_MS : MAX_CHECKPOINT_MS;
    const cancelStop = clock.after(limitMs, () => void calls.restart());
    await calls.call({ path, inode, alone }).finally(cancelStop);
  }

  async function checkpoint(): Promise<void> {
    if (pagesLeft() < logPages) return;
    await inThread(false);
    // A reader still needs the old pages. Once it ends, all of the log is due: too much to wait for.
    if (pagesLeft() >= logPages) return;
    const resume = pause();
    await inThread(true).finally(resume);
  }

  function giveUp(error: unknown): void {
    if (isClosed) return;
    isClosed = true;
    setAutoCheckpoint(true);
    warn(`${messageOf(error)}; the log of the database is moved between requests instead`);
  }

  return {
    /** Call it after each transaction. */
    committed() {
      if (++commits % CHECK_EVERY > 0 || isRunning || isClosed) return;
      isRunning = true;
      checkpoint()
        .catch(giveUp)
        .finally(() => {
          isRunning = false;
        });
    },
    /** Stops the thread; SQLite checkpoints after transactions again. */
    async close(): Promise<void> {
      isClosed = true;
      await calls.close();
      setAutoCheckpoint(true);
    },
  };
}

const startCheckpointer = (): Worker => startBuiltWorker('checkpoints-worker');
