import type { Clock } from '../../clock.ts';
import { GwError, messageOf } from '../../errors.ts';
import type { Db } from '../open.ts';

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
}

interface Entry {
  command: () => unknown;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** How long a batch keeps trying while another process holds the write lock. */
const BUSY_LIMIT_MS = 5_000;
const BUSY_PAUSE_MS = 5;

/**
 * One immediate transaction for all the commands of an event-loop turn, in the order in which they came.
 * A command that throws fails alone: the batch is rolled back and each command runs in its own transaction.
 */
export function createGroupCommit(db: Db, hooks: BatchHooks, clock: Clock): GroupCommit {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let waiting: Entry[] = [];
  let busySince: number | undefined;

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
      if (!committed && db.inTransaction) rollback.run();
      hooks.end(committed);
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
    for (const entry of entries) {
      try {
        const [result] = run([entry]);
        entry.resolve(result as never);
      } catch (own) {
        entry.reject(isSqlite(own) ? storageUnavailable(own) : own);
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
    submit: <T>(command: () => T) =>
      new Promise<T>((resolve, reject) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ command, resolve, reject } as Entry);
      }),
    flush,
  };
}

function sqliteCode(error: unknown): string {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && code.startsWith('SQLITE_') ? code : '';
}

const isSqlite = (error: unknown) => sqliteCode(error) !== '';
const isBusy = (error: unknown) => sqliteCode(error).startsWith('SQLITE_BUSY');

/** Faults of the file or the disk: every command of the batch would meet them again. */
function isStorageFault(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CORRUPT|NOTADB|CANTOPEN|PERM)/.test(sqliteCode(error));
}

export function storageUnavailable(cause: unknown): GwError {
  return new GwError(
    `gw cannot write its database (${messageOf(cause)}), and nothing is forwarded that it cannot account for. Run: gw doctor`,
    { status: 503, type: 'api_error', code: 'storage_unavailable', cause },
  );
}
