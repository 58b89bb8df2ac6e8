import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { createKey } from '../../src/store/accounts/keys.ts';
import { createProject } from '../../src/store/accounts/projects.ts';
import { setBudget } from '../../src/store/budgets/budgets.ts';
import { type Db, openDatabase } from '../../src/store/database/open.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  fileDatabase,
  NOON,
  recordOf,
  startDaemon,
} from '../support/simulator.ts';
import { checkFile } from '../support/simulator-check.ts';

const DEFAULT = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
const LONG_NAME = 'm'.repeat(150);

async function open() {
  const path = await fileDatabase();
  const db = await openDatabase(path, { busyTimeoutMs: 0 });
  addProjects(db, 1);
  const world = createWorld();
  const context = { calendar: world.calendar, now: NOON };
  await setBudget(db, DEFAULT, { period: 'daily', capNanoUsd: 1e12 }, context);
  return { path, db, context, daemon: startDaemon(db, world, 0) };
}

/** Leaves the database no page to grow by; returns what gives it room again. */
function fillDisk(db: Db): () => void {
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.exec(
    'CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(20000)); DROP TABLE ballast; VACUUM',
  );
  db.pragma(`max_page_count = ${db.pragma('page_count', { simple: true })}`);
  return () => db.pragma('max_page_count = 1000000');
}

const isStorageError = (reason: unknown) =>
  reason instanceof GwError && reason.code === 'storage_unavailable';

describe('a full disk', () => {
  test('fails whole turns closed, keeps what was acknowledged, and hurts nothing once there is room', async () => {
    const { db, daemon } = await open();
    const makeRoom = fillDisk(db);
    const acknowledged: number[] = [];
    const refused: number[] = [];
    for (let turn = 0; turn < 60; turn++) {
      const ids = Array.from({ length: 5 }, () => daemon.nextId());
      const asks = ids.map((id, i) =>
        daemon.ledger.admit(admissionOf(id, 100, { model: `${LONG_NAME}${turn}.${i}` })),
      );
      const results = await Promise.allSettled(asks);
      const outcomes = new Set(results.map(({ status }) => status));
      expect(outcomes.size, 'a turn fails as a whole').toBe(1);
      (outcomes.has('fulfilled') ? acknowledged : refused).push(...ids);
      for (const result of results)
        if (result.status === 'rejected') expect(result.reason).toSatisfy(isStorageError);
    }
    expect(refused.length).toBeGreaterThan(0);
    checkFile(db);
    expect(db.prepare('SELECT id FROM open_holds ORDER BY id').pluck().all()).toEqual(acknowledged);
    makeRoom();
    const [last] = refused;
    expect(await daemon.ledger.admit(admissionOf(last ?? 0, 100))).toMatchObject({ kind: 'held' });
    for (const id of [...acknowledged, last ?? 0]) {
      await daemon.ledger.settle(recordOf(id, { costNanoUsd: 50 }));
    }
    const [standing] = await daemon.ledger.standings(1);
    expect(standing).toMatchObject({ posted: 50 * (acknowledged.length + 1), pending: 0 });
    checkFile(db);
  });

  test('leaves a hold open whose settlement could not be written, so that it can be tried again', async () => {
    const { db, daemon } = await open();
    const id = daemon.nextId();
    await daemon.ledger.admit(admissionOf(id, 100));
    const makeRoom = fillDisk(db);
    const detail = { text: 'x'.repeat(50_000) };
    await expect(daemon.ledger.settle(recordOf(id, { costNanoUsd: 60, detail }))).rejects.toSatisfy(
      isStorageError,
    );
    expect((await daemon.ledger.standings(1))[0]).toMatchObject({ posted: 0, pending: 100 });
    makeRoom();
    expect(await daemon.ledger.settle(recordOf(id, { costNanoUsd: 60, detail }))).toMatchObject({
      kind: 'settled',
    });
    checkFile(db);
  });

  test('is told by every other write of the store', async () => {
    const { db, context } = await open();
    fillDisk(db);
    const label = 'x'.repeat(50_000);
    await expect(createKey(db, { projectId: 1, label, now: context.now })).rejects.toSatisfy(isStorageError);
    checkFile(db);
  });
});

describe('a database that another process has locked', () => {
  test('delays the ledger and is told by other writes', async () => {
    const { path, db, context, daemon } = await open();
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    const id = daemon.nextId();
    const admitted = daemon.ledger.admit(admissionOf(id, 100));
    await expect(createProject(db, { name: 'web', now: NOON })).rejects.toSatisfy(isStorageError);
    await expect(setBudget(db, DEFAULT, { period: 'monthly', capNanoUsd: 1 }, context)).rejects.toSatisfy(
      isStorageError,
    );
    other.exec('COMMIT');
    expect(await admitted).toMatchObject({ kind: 'held' });
    other.close();
    checkFile(db);
  });
});
