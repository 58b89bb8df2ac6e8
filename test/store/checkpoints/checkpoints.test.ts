import { copyFileSync, existsSync, renameSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import {
  type Checkpoints,
  type CheckpointsOptions,
  createCheckpoints,
} from '../../../src/store/checkpoints/checkpoints.ts';
import { type Db, openDatabase } from '../../../src/store/database/open.ts';
import { createGroupCommit, type GroupCommit } from '../../../src/store/ledger/group-commit.ts';
import { startBuiltWorker } from '../../../src/worker-calls.ts';
import { createSetClock, fileDatabase } from '../../support/simulator.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

beforeAll(() => {
  if (!existsSync(new URL('../../../dist/bundle/checkpoints-worker.js', import.meta.url)))
    throw new Error('there is no dist/bundle/checkpoints-worker.js: npm run build');
});

const PAGE = 4_096;
const PAGES_A_ROW = 16;
/** How full the log may get here. */
const FULL = 800;

let path: string;
let db: Db;
let group: GroupCommit;
let checkpoints: Checkpoints;
let warnings: string[];

/** A database that the group commit writes and the thread moves the log of. */
function start(options: Partial<CheckpointsOptions> = {}): void {
  group = createGroupCommit(db, createSetClock(), {
    begin() {},
    write() {},
    end: (committed) => committed && checkpoints.committed(),
  });
  checkpoints = createCheckpoints({
    db,
    path,
    logPages: FULL,
    pause: () => group.pause(),
    warn: (message) => warnings.push(message),
    ...options,
  });
}

/** Writes a row that takes some pages; resolves when it has committed. */
function write(): Promise<unknown> {
  return group.submit(() => db.exec(`INSERT INTO t VALUES (zeroblob(${PAGES_A_ROW * PAGE}))`));
}

/** A row after the other, from several writers at once, without a pause. */
async function writePages(pages: number): Promise<void> {
  let left = pages / PAGES_A_ROW;
  const writer = async () => {
    while (left-- > 0) await write();
  };
  await Promise.all([writer(), writer(), writer()]);
}

/** How many pages the log has, those included that have been moved. */
const log = () => (db.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[])[0];
const inLog = () => log()?.log;
const moved = () => log()?.checkpointed ?? 0;
const leftInLog = () => (inLog() ?? 0) - moved();
const autocheckpoint = () => db.pragma('wal_autocheckpoint', { simple: true });

beforeEach(async () => {
  path = await fileDatabase();
  db = await openDatabase(path);
  db.exec('CREATE TABLE t (x)');
  warnings = [];
});

afterEach(async () => {
  await checkpoints.close();
  db.close();
});

describe('createCheckpoints()', () => {
  test('moves the log beside transactions that never pause, so that it begins anew', async () => {
    start();
    expect(autocheckpoint()).toBe(0);
    let rounds = 0;
    const beginsAnew = async () => {
      const before = inLog() ?? 0;
      await writePages(FULL);
      rounds++;
      return (inLog() ?? 0) < before;
    };
    for (let times = 0; times < 3; times++) await expect.poll(beginsAnew).toBe(true);
    expect(db.prepare('SELECT count(*) FROM t').pluck().get()).toBe((rounds * FULL) / PAGES_A_ROW);
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(warnings).toEqual([]);
  });

  test('begins it anew when a report that held it up has ended', async () => {
    start();
    const reader = new Database(path, { readonly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM t').get();
    await writePages(6 * FULL);
    expect(inLog()).toBeGreaterThan(6 * FULL);
    reader.close();
    const beginsAnew = async () => {
      await writePages(FULL);
      return inLog();
    };
    await expect.poll(beginsAnew).toBeLessThan(6 * FULL);
  });

  test('keeps transactions waiting for what came in meanwhile, not for all that a report holds up', async () => {
    let answers = 0;
    const leftAtPauses: number[] = [];
    start({
      startWorker() {
        const worker = startBuiltWorker('checkpoints-worker');
        worker.on('message', () => answers++);
        return worker;
      },
      pause() {
        leftAtPauses.push(leftInLog());
        return group.pause();
      },
    });
    const untilLooked = async (expected: number) => {
      for (let i = 0; i < 32; i++) await write();
      await expect.poll(() => answers).toBe(expected);
    };
    const read = () => {
      const reader = new Database(path, { readonly: true });
      reader.exec('BEGIN');
      reader.prepare('SELECT count(*) FROM t').get();
      return reader;
    };
    await untilLooked(0);
    const first = read();
    await untilLooked(2);
    const second = read();
    for (let i = 3; i < 7; i++) await untilLooked(i);
    first.close();
    await untilLooked(7);
    expect(leftAtPauses).toHaveLength(1);
    second.close();
    await untilLooked(9);
    expect(Math.max(...leftAtPauses)).toBeLessThan(FULL);
  });

  test('leaves it to the transactions where the thread breaks down, and says so once', async () => {
    start({ startWorker: () => new Worker('process.exit(3)', { eval: true }) });
    await writePages(3 * FULL);
    await expect.poll(() => warnings).toHaveLength(1);
    expect(warnings[0]).toBe(
      'the checkpointer stopped (exit code 3); the log of the database is moved between requests instead',
    );
    expect(autocheckpoint()).toBe(FULL);
    await writePages(6 * FULL);
    expect(inLog()).toBeLessThan(3 * FULL);
    expect(warnings).toHaveLength(1);
  });

  describe('with a thread that hangs while transactions wait', () => {
    const hangs = `const { parentPort } = require('node:worker_threads');
      const Database = require('better-sqlite3');
      parentPort.on('message', ({ id, request }) => {
        if (request.alone) return;
        new Database(request.path).pragma('wal_checkpoint(PASSIVE)');
        parentPort.postMessage({ id, answer: undefined });
      });`;
    let paused: number;
    let resumed: number;

    async function startHanging(clock: Clock): Promise<void> {
      paused = 0;
      resumed = 0;
      start({
        clock,
        startWorker: () => new Worker(hangs, { eval: true }),
        pause() {
          paused++;
          const resume = group.pause();
          return () => {
            resumed++;
            resume();
          };
        },
      });
      await writePages(3 * FULL);
      await expect.poll(() => paused).toBe(1);
    }

    test('lets them go on after some seconds', async () => {
      const clock = createVirtualClock();
      await startHanging(clock);
      const waiting = write();
      await clock.advance(5_000);
      await waiting;
      expect(resumed).toBe(1);
      expect(warnings).toEqual([
        'the checkpointer was stopped; the log of the database is moved between requests instead',
      ]);
      expect(autocheckpoint()).toBe(FULL);
    });

    test('lets them go on when it is closed', async () => {
      await startHanging(createVirtualClock());
      const waiting = write();
      await checkpoints.close();
      await waiting;
      expect(resumed).toBe(1);
      expect(warnings).toEqual([]);
      expect(autocheckpoint()).toBe(FULL);
    });
  });

  test('touches no other database that was put in the place of its own', async () => {
    start();
    renameSync(path, `${path}.old`);
    copyFileSync(`${path}.old`, path);
    await writePages(3 * FULL);
    await expect.poll(() => warnings).toEqual([expect.stringContaining('is another file than it was')]);
    expect(autocheckpoint()).toBe(FULL);
  });

  test('leaves it to the transactions once it is closed', async () => {
    start();
    await writePages(FULL);
    await checkpoints.close();
    expect(autocheckpoint()).toBe(FULL);
    await writePages(FULL);
    expect(warnings).toEqual([]);
  });

  test('starts no thread for a few transactions', async () => {
    let started = 0;
    start({
      startWorker() {
        started++;
        return new Worker('', { eval: true });
      },
    });
    await writePages(FULL / 4);
    expect(started).toBe(0);
  });
});
