import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRequestIds, MAX_SLOTS } from '../../../src/ids.ts';
import {
  deadDaemons,
  lastRequestId,
  orphanedSlots,
  registerDaemon,
  unregisterDaemon,
} from '../../../src/store/database/daemons.ts';
import { acquireLock } from '../../../src/store/database/lock.ts';
import type { Db } from '../../../src/store/database/open.ts';
import {
  addProjects,
  admissionOf,
  createWorld,
  memoryDatabase,
  recordOf,
  startDaemon,
  temporaryDirectory,
} from '../../support/simulator.ts';

function register(db: Db, instanceId: string, lockPath = `/nowhere/${instanceId}`): number {
  return registerDaemon(db, { instanceId, pid: 1, lockPath, startedAt: 0 });
}

function locked(path: string): void {
  const lock = acquireLock(path);
  onTestFinished(() => lock?.release());
}

async function withOpenHold(slot: number): Promise<Db> {
  const db = await memoryDatabase();
  addProjects(db, 1);
  const daemon = startDaemon(db, createWorld(), slot);
  await daemon.ledger.admit(admissionOf(daemon.nextId(), 5));
  return db;
}

describe('registerDaemon()', () => {
  test('gives the lowest free slot', async () => {
    const db = await memoryDatabase();
    expect([register(db, 'a'), register(db, 'b'), register(db, 'c')]).toEqual([0, 1, 2]);
    unregisterDaemon(db, 'b');
    expect(register(db, 'd')).toBe(1);
  });

  test('passes over a slot that has open holds, whose ids another could make again', async () => {
    const db = await withOpenHold(0);
    expect(register(db, 'a')).toBe(1);
  });

  test('takes a slot whose holds are those of jobs, which do not end with their daemons', async () => {
    const db = await memoryDatabase();
    addProjects(db, 1);
    const { ledger, nextId } = startDaemon(db, createWorld(), 0);
    const [requestId, jobId] = [nextId(), 'video_1'];
    const record = { flags: 0, firstByteMs: null };
    const started = [
      ledger.admit(admissionOf(requestId, 5)),
      ledger.beginJob({ requestId, provider: 'openai', jobId, expiresAt: 0, record }),
    ];
    ledger.flush();
    await Promise.all(started);
    expect(orphanedSlots(db)).toEqual([]);
    expect(register(db, 'a')).toBe(0);
    expect(startDaemon(db, createWorld(), 0).nextId()).toBeGreaterThan(requestId);
  });

  test('says so when every slot is taken', async () => {
    const db = await memoryDatabase();
    for (let i = 0; i < MAX_SLOTS; i++) register(db, `d${i}`);
    expect(() => register(db, 'one more')).toThrow('32 daemons share this database already');
  });
});

describe('deadDaemons()', () => {
  test('names those whose lock is free or gone, and not those that live', async () => {
    const db = await memoryDatabase();
    const directory = temporaryDirectory();
    const [own, alive, killed, erased] = ['own', 'alive', 'killed', 'erased'].map((name) =>
      join(directory, name),
    ) as [string, string, string, string];
    locked(own);
    locked(alive);
    acquireLock(killed)?.release();
    acquireLock(erased)?.release();
    rmSync(erased);
    for (const [id, path] of Object.entries({ own, alive, killed, erased })) register(db, id, path);
    const dead = deadDaemons(db, { instanceId: 'own', lockPath: own });
    expect(dead.map(({ instanceId, slot }) => [instanceId, slot])).toEqual([
      ['killed', 2],
      ['erased', 3],
    ]);
  });

  test('names an earlier daemon of the own lock, which cannot live beside this one', async () => {
    const db = await memoryDatabase();
    const own = join(temporaryDirectory(), 'own');
    locked(own);
    register(db, 'before', own);
    register(db, 'own', own);
    const dead = deadDaemons(db, { instanceId: 'own', lockPath: own });
    expect(dead.map(({ instanceId }) => instanceId)).toEqual(['before']);
  });
});

describe('lastRequestId()', () => {
  test('is the last of running and recorded requests, so that a clock set back makes none anew', async () => {
    const db = await memoryDatabase();
    expect(lastRequestId(db)).toBe(0);
    addProjects(db, 1);
    const world = createWorld();
    const { ledger, nextId } = startDaemon(db, world, 0);
    const [first, second] = [nextId(), nextId()];
    await ledger.record(recordOf(first));
    expect(lastRequestId(db)).toBe(first);
    await ledger.admit(admissionOf(second, 5));
    expect(lastRequestId(db)).toBe(second);
    const restarted = createRequestIds(0, () => world.clock.now() - 3_600_000, lastRequestId(db));
    expect(restarted()).toBeGreaterThan(second);
  });
});

describe('orphanedSlots()', () => {
  test('are those with open holds and no daemon', async () => {
    const db = await withOpenHold(3);
    expect(orphanedSlots(db)).toEqual([3]);
    for (let i = 0; i < 3; i++) register(db, `d${i}`);
    db.exec("INSERT INTO daemons VALUES (3, 'owner', 1, '/nowhere', 0)");
    expect(orphanedSlots(db)).toEqual([]);
  });
});
