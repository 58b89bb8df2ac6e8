import type { Clock } from '../../clock.ts';
import type { Db } from '../database/open.ts';
import { isBusy, isSqlite, isStorageFault, storageUnavailable } from '../database/write.ts';

/** Hooks around the commands of one transaction. */
export interface BatchHooks {
  begin(now: number): void;
  /** Writes what the commands left in memory; runs inside the transaction. */
  write(): void;
  end(committed: boolean): void;
}

export type GroupCommit = ReturnType<typeof createGroupCommit>;

interface Entry {
  command: () => unknown;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** How long a batch is retried while another process holds the write lock. */
const BUSY_LIMIT_MS = 5_000;
const BUSY_PAUSE_MS = 5;
/** How long a late command waits for a transaction to ride on. */
export const LATE_MS = 2;
const MAX_TURNS = 4;
const FULL_BATCH = 64;

/**
 * Runs all commands of an event-loop turn in one immediate transaction, in the order in which they were submitted.
 * A command that throws fails alone: the batch is rolled back and each command runs in its own transaction.
 */
export function createGroupCommit(db: Db, clock: Clock, hooks: BatchHooks) {
  const run = createTransaction(db, clock, hooks);
  let waiting: Entry[] = [];
  let late: Entry[] = [];
  let busySince: number | undefined;
  let paused = false;
  const window = createBatchWindow({
    size: () => waiting.length,
    close() {
      if (!paused) flush();
    },
  });
  const lateTimer = createLateTimer(clock, {
    isNeeded: () => late.length > 0 && waiting.length === 0 && !paused,
    flush,
  });

  function flush(): void {
    if (waiting.length + late.length === 0) return;
    const entries = late.length === 0 ? waiting : [...late, ...waiting];
    waiting = [];
    late = [];
    try {
      const results = run(entries);
      busySince = undefined;
      entries.forEach((entry, i) => {
        entry.resolve(results[i] as never);
      });
    } catch (error) {
      handleFailure(entries, error);
    }
  }

  function handleFailure(entries: Entry[], error: unknown): void {
    if (isBusy(error) && retryLater(entries)) return;
    busySince = undefined;
    if (entries.length > 1 && !isStorageFault(error)) runAlone(entries);
    else for (const entry of entries) entry.reject(failureOf(error));
  }

  /** Runs each command in its own transaction; once another process takes the lock in between, the rest wait. */
  function runAlone(entries: Entry[]): void {
    for (const [i, entry] of entries.entries()) {
      try {
        const [result] = run([entry]);
        busySince = undefined;
        entry.resolve(result as never);
      } catch (error) {
        if (isBusy(error) && retryLater(entries.slice(i))) return;
        entry.reject(failureOf(error));
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

  return {
    /** Runs `command` in the next transaction; resolves with its result once that has committed. */
    submit: <T>(command: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (waiting.length === 0) window.open();
        waiting.push({ command, resolve, reject } as Entry);
      }),
    /**
     * As `submit`, but nobody waits for it: `command` rides on the next transaction, ahead of its other commands, or has
     * one of its own after LATE_MS.
     */
    submitLate: <T>(command: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        if (late.length === 0) lateTimer.start();
        late.push({ command, resolve, reject } as Entry);
      }),
    /** Resolves when everything submitted so far has been committed, or has failed. */
    async settled(): Promise<void> {
      while (waiting.length + late.length > 0)
        await new Promise<void>((resolve) => {
          if (waiting.length === 0) window.open();
          waiting.push({ command: () => undefined, resolve: () => resolve(), reject: () => resolve() });
        });
    },
    /** Commits what is waiting, now. */
    flush,
    /** Holds back what is submitted until the returned function is called. */
    pause(): () => void {
      paused = true;
      return () => {
        paused = false;
        flush();
      };
    },
  };
}

/** Runs commands in one immediate transaction, with the hooks around them; rolls back and throws what any throws. */
function createTransaction(db: Db, clock: Clock, hooks: BatchHooks) {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  return (entries: Entry[]): unknown[] => {
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
  };
}

/**
 * Closes a batch after one turn of the event loop, or later while each turn adds commands: a lone request never waits,
 * and under load many share the fixed cost of a transaction.
 */
function createBatchWindow({ size, close }: { size: () => number; close: () => void }) {
  let lastSize = 0;
  let turns = 0;

  function check(): void {
    if (size() <= lastSize || turns === MAX_TURNS || size() >= FULL_BATCH) {
      close();
      return;
    }
    lastSize = size();
    turns++;
    setImmediate(check);
  }

  return {
    /** The first command is about to be added. */
    open() {
      lastSize = 1;
      turns = 0;
      setImmediate(check);
    },
  };
}

/**
 * Commits late commands once the oldest is due. A timer is left running when a transaction has taken its commands along:
 * setting one anew for each transaction takes longer.
 */
function createLateTimer(clock: Clock, { isNeeded, flush }: { isNeeded: () => boolean; flush: () => void }) {
  let dueAt = 0;
  let isSet = false;

  function set(ms: number): void {
    isSet = true;
    clock.after(ms, () => {
      isSet = false;
      // A batch whose window is open takes them along in this turn.
      if (!isNeeded()) return;
      const leftMs = Math.floor(dueAt - clock.monotonic());
      if (leftMs > 0) set(leftMs);
      else flush();
    });
  }

  return {
    /** The first late command since the last transaction is about to be added. */
    start() {
      dueAt = clock.monotonic() + LATE_MS;
      if (!isSet) set(LATE_MS);
    },
  };
}

function failureOf(error: unknown): unknown {
  return isSqlite(error) ? storageUnavailable(error) : error;
}
