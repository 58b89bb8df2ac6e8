import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/clock.ts';
import { type ChangeWatch, createChangeWatch } from '../../../src/store/database/change-watch.ts';
import { temporaryDirectory } from '../../support/simulator.ts';

const STILL = { monotonic: () => 0 };

function open(clock: Pick<Clock, 'monotonic'> = STILL) {
  const path = `${temporaryDirectory()}/watched.db`;
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.exec('CREATE TABLE t (n)');
  const watch = createChangeWatch(db, clock);
  batch(db, watch);
  return { db, watch, other: new Database(path) };
}

/** A batch of the one who watches; returns whether nobody else had written before it. */
function batch(db: Database.Database, watch: ChangeWatch): boolean {
  return db
    .transaction(() => {
      const unchanged = watch.isUnchanged();
      db.prepare('INSERT INTO t VALUES (1)').run();
      watch.note();
      return unchanged;
    })
    .immediate();
}

test('its own batches change nothing', () => {
  const { db, watch } = open();
  expect([batch(db, watch), batch(db, watch)]).toEqual([true, true]);
});

test('the first batch knows nothing', () => {
  const db = new Database(':memory:');
  db.exec('CREATE TABLE t (n)');
  expect(batch(db, createChangeWatch(db, STILL))).toBe(false);
});

test('a commit of another connection is a change, once', () => {
  const { db, watch, other } = open();
  other.prepare('INSERT INTO t VALUES (2)').run();
  expect([batch(db, watch), batch(db, watch)]).toEqual([false, true]);
});

test('so is what other code writes on the same connection', () => {
  const { db, watch } = open();
  db.prepare('UPDATE t SET n = 3').run();
  expect([batch(db, watch), batch(db, watch)]).toEqual([false, true]);
});

test('what another connection rolled back is none, and neither is reading', () => {
  const { db, watch, other } = open();
  other.exec('BEGIN IMMEDIATE; INSERT INTO t VALUES (2); ROLLBACK');
  other.prepare('SELECT n FROM t').all();
  db.prepare('SELECT n FROM t').all();
  expect(batch(db, watch)).toBe(true);
});

test('between batches it asks the database at most every 10 ms, a batch always', () => {
  let now = 0;
  const { db, watch, other } = open({ monotonic: () => now });
  expect(watch.looksUnchanged()).toBe(true);
  other.prepare('INSERT INTO t VALUES (2)').run();
  now = 10;
  expect(watch.looksUnchanged()).toBe(true);
  now = 11;
  expect([watch.looksUnchanged(), watch.looksUnchanged()]).toEqual([false, false]);
  expect([batch(db, watch), watch.looksUnchanged()]).toEqual([false, true]);
  other.prepare('INSERT INTO t VALUES (2)').run();
  expect([batch(db, watch), watch.looksUnchanged()]).toEqual([false, true]);
});

test('between batches it knows at once what other code writes on the same connection', () => {
  const { db, watch } = open();
  db.prepare('UPDATE t SET n = 3').run();
  expect(watch.looksUnchanged()).toBe(false);
});
