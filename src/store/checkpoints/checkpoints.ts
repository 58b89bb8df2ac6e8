import { statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';
import { type Db, LOG_PAGES } from '../database/open.ts';
import type { CheckpointRequest } from './worker.ts';

/** Moves what the write-ahead log has into the database, in a thread: each time it waits for the disk, some 20 ms. */
export interface Checkpoints {
  /** To be called after each transaction. */
  committed(): void;
  /** Stops the thread; later transactions move pages themselves again. */
  close(): Promise<void>;
}

export interface CheckpointsOptions {
  /** The connection that writes. */
  db: Db;
  path: string;
  /** It is moved when it has so many pages. */
  logPages?: number;
  /** Keeps transactions waiting until the function is called that it returns. */
  pause: () => () => void;
  clock?: Clock;
  /** Tells whoever reads the log. */
  warn?: (message: string) => void;
  startWorker?: () => Worker;
}

/** The log is looked at after so many transactions, each of which writes 3 to 100 pages. */
const LOOK_EVERY = 32;
/** A thread that takes longer hangs and is stopped. */
const LONGEST_MOVE_MS = 60_000;
/** The same while transactions wait for it. */
const LONGEST_PAUSE_MS = 5_000;

/**
 * The log can begin anew only when all of it has been moved, which while requests come in never happens by itself:
 * so most is moved beside them, and the little that came in meanwhile with transactions paused.
 */
export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const { db, path, logPages = LOG_PAGES, pause, clock = systemClock } = options;
  const { warn = () => {}, startWorker = startCheckpointer } = options;
  const calls = createWorkerCalls<CheckpointRequest, void>({
    name: 'checkpointer',
    startWorker,
    clock,
  });
  const inode = statSync(path).ino;
  const readLog = db
    .prepare<[], [busy: number, log: number, moved: number]>('PRAGMA wal_checkpoint(NOOP)')
    .raw();
  let commits = 0;
  let moving = false;
  let closed = false;
  moveByCommits(false);

  /** A transaction that leaves much in the log moves it, as SQLite does unasked; or that is left to the thread. */
  function moveByCommits(on: boolean): void {
    db.pragma(`wal_autocheckpoint = ${on ? logPages : 0}`);
  }

  /** How many pages of the log are left to be moved. */
  function left(): number {
    const [, log, moved] = readLog.get() ?? [0, 0, 0];
    return log - moved;
  }

  async function inThread(alone: boolean): Promise<void> {
    const limitMs = alone ? LONGEST_PAUSE_MS : LONGEST_MOVE_MS;
    const cancelStop = clock.after(limitMs, () => void calls.restart());
    await calls.call({ path, inode, alone }).finally(cancelStop);
  }

  async function move(): Promise<void> {
    if (left() < logPages) return;
    await inThread(false);
    // What a report that began before holds up may become free at once, and is too much for others to wait for.
    if (left() >= logPages) return;
    const resume = pause();
    await inThread(true).finally(resume);
  }

  function giveUp(error: unknown): void {
    if (closed) return;
    closed = true;
    moveByCommits(true);
    warn(`${messageOf(error)}; the log of the database is moved between requests instead`);
  }

  return {
    committed() {
      if (++commits % LOOK_EVERY > 0 || moving || closed) return;
      moving = true;
      move()
        .catch(giveUp)
        .finally(() => {
          moving = false;
        });
    },
    async close() {
      closed = true;
      await calls.close();
      moveByCommits(true);
    },
  };
}

function startCheckpointer(): Worker {
  return startBuiltWorker('store/checkpoints/worker.js');
}
