import type { Clock } from '../../clock.ts';
import type { Db } from '../database/open.ts';
import { isBusy, isSqlite, isStorageFault, storageUnavailable } from '../database/storage-error.ts';

/** What happens around the commands of one transaction. */
export interface BatchHooks {
  begin(now: number): void;
  /** Writes what the commands left in memory; runs inside the transaction. */
  write(): void;
  end(committed: boolean): void;
}

export interface GroupCommit {
  /** Runs `command` in the next transaction; resolves with its result once that has committed. */
  submit<T>(command: () => T): Promise<T>;
  /** Commits what is waiting, now. */
  flush(): void;
  /** Lets what comes in wait, until the function is called that it returns. */
  pause(): () => void;
}

interface Entry {
  command: () => unknown;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** How long a batch keeps trying while another process holds the write lock. */
const BUSY_LIMIT_MS = 5_000;
const BUSY_PAUSE_MS = 5;
const MAX_TURNS = 4;
const FULL_BATCH = 64;

/**
 * One immediate transaction for all the commands of an event-loop turn, in the order in which they came.
 * A command that throws fails alone: the batch is rolled back and each command runs in its own transaction.
 */
export function createGroupCommit(db: Db, hooks: BatchHooks, clock: Clock): GroupCommit {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let waiting: Entry[] = [];
  /** How many were waiting when the batch was looked at last, and how often it has been let grow. */
  let seen = 0;
  let turns = 0;
  let busySince: number | undefined;
  let paused = false;

  function run(entries: Entry[]): unknown[] {
    begin.run();
    let committed = false;
    try {
      hooks.begin(clock.now());
      const results = entries.map((entry) => entry.command());
      hooks.write();
      commit.run();
      committed = true;
      return results;
    } finally {
      try {
        if (!committed && db.inTransaction) rollback.run();
      } finally {
        hooks.end(committed);
      }
    }
  }

  function flush(): void {
    if (waiting.length === 0) return;
    const entries = waiting;
    waiting = [];
    try {
      const results = run(entries);
      busySince = undefined;
      entries.forEach((entry, i) => {
        entry.resolve(results[i] as never);
      });
    } catch (error) {
      settleFailed(entries, error);
    }
  }

  function settleFailed(entries: Entry[], error: unknown): void {
    if (isBusy(error) && retryLater(entries)) return;
    busySince = undefined;
    const failure = isSqlite(error) ? storageUnavailable(error) : error;
    const [only] = entries;
    if (entries.length === 1 && only) {
      only.reject(failure);
      return;
    }
    if (isStorageFault(error)) {
      for (const entry of entries) entry.reject(failure);
      return;
    }
    runAlone(entries);
  }

  /** Runs each command in a transaction of its own; when another process gets in between, the rest wait. */
  function runAlone(entries: Entry[]): void {
    for (const [i, entry] of entries.entries()) {
      try {
        const [result] = run([entry]);
        busySince = undefined;
        entry.resolve(result as never);
      } catch (error) {
        if (isBusy(error) && retryLater(entries.slice(i))) return;
        entry.reject(isSqlite(error) ? storageUnavailable(error) : error);
      }
    }
  }

  /** Puts a batch back in front while another process has the lock, without blocking the event loop. */
  function retryLater(entries: Entry[]): boolean {
    busySince ??= clock.monotonic();
    if (clock.monotonic() - busySince > BUSY_LIMIT_MS) return false;
    waiting = [...entries, ...waiting];
    setTimeout(flush, BUSY_PAUSE_MS);
    return true;
  }

  /**
   * Commits, or lets the batch grow for another turn of the event loop while each turn brings more: a lone request
   * never waits, and under load a transaction's fixed cost is shared by many.
   */
  function gather(): void {
    if (paused) return;
    if (waiting.length > seen && turns < MAX_TURNS && waiting.length < FULL_BATCH) {
      seen = waiting.length;
      turns++;
      setImmediate(gather);
      return;
    }
    flush();
  }

  return {
    submit: <T>(command: () => T) =>
      new Promise<T>((resolve, reject) => {
        if (waiting.length === 0) {
          seen = 1;
          turns = 0;
          setImmediate(gather);
        }
        waiting.push({ command, resolve, reject } as Entry);
      }),
    flush,
    pause() {
      paused = true;
      return () => {
        paused = false;
        flush();
      };
    },
  };
}
