import { statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { type Clock, systemClock } from '../../clock.ts';
import { messageOf } from '../../errors.ts';
import { createWorkerCalls, startBuiltWorker } from '../../worker-calls.ts';
import { type Db, LOG_PAGES } from '../open.ts';
import type { CheckpointAnswer, CheckpointRequest } from './worker.ts';

/** Moves what the write-ahead log has into the database, in a thread: each time it waits for the disk, some 20 ms. */
export interface Checkpoints {
  /** To be called after each transaction, with how many commands it had. */
  committed(commands: number): void;
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

/** About what a transaction writes besides a page for each of its commands. */
const PAGES_A_COMMIT = 8;
/** Transactions wait no longer than this for a thread that hangs: it is stopped. */
const LONGEST_PAUSE_MS = 5_000;

/**
 * The log can begin anew only when all of it has been moved, which while requests come in never happens by itself:
 * so most is moved beside them, and the little that came in meanwhile with transactions paused.
 */
export function createCheckpoints(options: CheckpointsOptions): Checkpoints {
  const { db, path, logPages = LOG_PAGES, pause, clock = systemClock } = options;
  const { warn = () => {}, startWorker = startCheckpointer } = options;
  const calls = createWorkerCalls<CheckpointRequest, CheckpointAnswer>({
    name: 'checkpointer',
    startWorker,
    clock,
  });
  const inode = statSync(path).ino;
  let written = 0;
  let nextLook = logPages / 2;
  let looking = false;
  let closed = false;
  moveByCommits(false);

  /** A transaction that leaves much in the log moves it, as SQLite does unasked; or that is left to the thread. */
  function moveByCommits(on: boolean): void {
    db.pragma(`wal_autocheckpoint = ${on ? logPages : 0}`);
  }

  async function look(): Promise<void> {
    const { before, after } = await calls.call({ path, inode, from: logPages, alone: false });
    // What a commit writes is only guessed, so it is looked at in good time.
    nextLook = Math.max(logPages / 8, (logPages - after) / 2);
    if (after === before) return;
    const resume = pause();
    const cancelStop = clock.after(LONGEST_PAUSE_MS, () => void calls.restart());
    try {
      await calls.call({ path, inode, from: 0, alone: true });
    } finally {
      cancelStop();
      resume();
    }
  }

  return {
    committed(commands) {
      written += PAGES_A_COMMIT + commands;
      if (written < nextLook || looking || closed) return;
      written = 0;
      looking = true;
      look()
        .catch((error) => {
          if (closed) return;
          closed = true;
          moveByCommits(true);
          warn(`${messageOf(error)}; the log of the database is moved between requests instead`);
        })
        .finally(() => {
          looking = false;
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
