import Database from 'better-sqlite3';
import { describe, expect, test, vi } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { GwError } from '../../../src/errors.ts';
import { createGroupCommit, type GroupCommit, LATE_MS } from '../../../src/store/ledger/group-commit.ts';
import { until } from '../../support/home.ts';
import { createSetClock, temporaryDirectory } from '../../support/simulator.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

interface Bench extends GroupCommit {
  db: Database.Database;
  /** How each transaction ended. */
  ends: boolean[];
  rows(): unknown[];
  insert(n: number): Promise<number>;
}

function openBench(
  path = ':memory:',
  onEnd: (committed: boolean) => void = () => undefined,
  clock: Clock = createSetClock(),
): Bench {
  const db = new Database(path, { timeout: 0 });
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY)');
  const ends: boolean[] = [];
  const hooks = {
    begin: () => undefined,
    write: () => undefined,
    end(committed: boolean) {
      ends.push(committed);
      onEnd(committed);
    },
  };
  const group = createGroupCommit(db, clock, hooks);
  const add = db.prepare('INSERT INTO t VALUES (?)');
  return {
    ...group,
    db,
    ends,
    rows: () => db.prepare('SELECT n FROM t ORDER BY n').pluck().all(),
    insert: (n) =>
      group.submit(() => {
        add.run(n);
        return n;
      }),
  };
}

/** A clock that tells how often a batch has found the database busy, as each try then asks for the time. */
function countingClock() {
  const clock = createSetClock();
  let tries = 0;
  const monotonic = () => {
    tries++;
    return clock.monotonic();
  };
  return { clock: { ...clock, monotonic } as Clock, tries: () => tries };
}

/** Takes the write lock of a file on another connection. */
function lockOf(path: string): { release(): void } {
  const other = new Database(path);
  other.exec('BEGIN IMMEDIATE');
  return {
    release() {
      other.exec('COMMIT');
      other.close();
    },
  };
}

const inNewFile = () => `${temporaryDirectory()}/t.db`;

describe('submit()', () => {
  test('runs the commands of a turn in order in one transaction', async () => {
    const bench = openBench();
    expect(await Promise.all([3, 1, 2].map(bench.insert))).toEqual([3, 1, 2]);
    expect(bench.ends).toEqual([true]);
    expect(bench.rows()).toEqual([1, 2, 3]);
  });

  test('resolves only once the transaction has committed', async () => {
    const bench = openBench();
    const done = bench.insert(1).then(() => bench.db.inTransaction);
    expect(bench.rows()).toEqual([]);
    expect(await done).toBe(false);
  });

  test('takes commands that are submitted by what a command woke into the next transaction', async () => {
    const bench = openBench();
    await bench.insert(1).then(() => bench.insert(2));
    expect(bench.ends).toEqual([true, true]);
  });

  test('lets a command that throws fail alone', async () => {
    const bench = openBench();
    const failing = bench.submit(() => {
      bench.db.exec('INSERT INTO t VALUES (99)');
      throw new RangeError('mine');
    });
    const turn = await Promise.allSettled([bench.insert(1), failing, bench.insert(2)]);
    expect(turn.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    await expect(failing).rejects.toThrow(RangeError);
    expect(bench.rows()).toEqual([1, 2]);
    expect(bench.ends).toEqual([false, false, true, true]);
  });

  test('says that the database cannot be written when a command breaks a rule of it', async () => {
    const bench = openBench();
    await bench.insert(1);
    await expect(bench.insert(1)).rejects.toMatchObject({ code: 'storage_unavailable', status: 503 });
    expect(await bench.insert(2)).toBe(2);
  });
});

describe('flush()', () => {
  test('commits what waits now, and nothing is left for the turn’s end', async () => {
    const bench = openBench();
    const done = bench.insert(1);
    bench.flush();
    expect(bench.rows()).toEqual([1]);
    await done;
    bench.flush();
    expect(bench.ends).toEqual([true]);
  });
});

describe('pause()', () => {
  test('keeps commands waiting, in order, until it is over', async () => {
    const bench = openBench();
    const before = bench.insert(1);
    const resume = bench.pause();
    const meanwhile = bench.insert(2);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(bench.rows()).toEqual([]);
    resume();
    expect(await Promise.all([before, meanwhile])).toEqual([1, 2]);
    expect(await bench.insert(3)).toBe(3);
    expect(bench.ends).toEqual([true, true]);
  });
});

describe('while another process has the write lock', () => {
  test('a batch waits without blocking the event loop, and commands that come meanwhile join it in order', async () => {
    const path = inNewFile();
    const { clock, tries } = countingClock();
    const bench = openBench(path, undefined, clock);
    const lock = lockOf(path);
    const order: number[] = [];
    const first = bench.insert(1).then((n) => order.push(n));
    await until(() => tries() > 4);
    const second = bench.insert(2).then((n) => order.push(n));
    expect(order).toEqual([]);
    lock.release();
    await Promise.all([first, second]);
    expect(order).toEqual([1, 2]);
    expect(bench.ends).toEqual([true]);
  });

  test('a batch is rejected after five seconds, and the next one works once the lock is gone', async () => {
    const path = inNewFile();
    const bench = openBench(path);
    const lock = lockOf(path);
    let elapsed = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      elapsed += 1_000;
      return elapsed;
    });
    const turn = await Promise.allSettled([bench.insert(1), bench.insert(2)]);
    vi.restoreAllMocks();
    // Busy since the first second: the sixth is the last in which it is tried again.
    expect(elapsed).toBe(7_000);
    for (const result of turn) {
      if (result.status === 'fulfilled') throw new Error('it should have been rejected');
      expect(result.reason).toBeInstanceOf(GwError);
      expect(result.reason).toMatchObject({ code: 'storage_unavailable', status: 503 });
      expect(result.reason.message).toMatch(/^gw cannot write its database \(database is locked\)/);
    }
    lock.release();
    expect(await bench.insert(3)).toBe(3);
    expect(bench.rows()).toEqual([3]);
  });

  test('the neighbours of a command that throws wait for it too', async () => {
    const path = inNewFile();
    let lock: { release(): void } | undefined;
    const { clock, tries } = countingClock();
    // Another process is quicker than the retry that follows a rollback.
    const bench = openBench(
      path,
      (committed) => {
        if (!committed) lock ??= lockOf(path);
      },
      clock,
    );
    const order: number[] = [];
    const before = bench.insert(1).then((n) => order.push(n));
    const failing = bench.submit(() => {
      throw new Error('mine');
    });
    const after = bench.insert(2).then((n) => order.push(n));
    const busy = until(() => lock !== undefined && tries() > 4).then(() => lock?.release());
    await expect(failing).rejects.toThrow('mine');
    await Promise.all([before, after, busy]);
    expect(order).toEqual([1, 2]);
  });
});

describe('submitLate()', () => {
  test('commits when its own time is up, not that of an earlier one which a batch took along', async () => {
    const clock = createVirtualClock();
    const bench = openBench(':memory:', undefined, clock);
    const first = bench.submitLate(() => 1);
    await clock.advance(LATE_MS / 2);
    await Promise.all([bench.insert(2), first]);
    expect(bench.ends).toEqual([true]);
    const second = bench.submitLate(() => 3);
    await clock.advance(LATE_MS / 2);
    expect(bench.ends).toEqual([true]);
    await clock.advance(LATE_MS / 2);
    expect(await second).toBe(3);
    expect(bench.ends).toEqual([true, true]);
    expect(clock.timers).toBe(0);
  });
});
