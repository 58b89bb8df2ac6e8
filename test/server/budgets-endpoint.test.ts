import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { budgets, removeBudget, setBudget } from '../../src/operations/run/budgets.ts';
import type { Sources } from '../../src/operations/sources.ts';
import { createSources, type SourceOptions } from '../../src/server/gw-api/sources-of.ts';
import { setBudget as store } from '../../src/store/budgets/budgets.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { request } from '../support/client.ts';
import { startGateway } from '../support/gateway.ts';
import { addProjects, createWorld, fileDatabase, startDaemon } from '../support/simulator.ts';

/** Sends a PUT with this body to a new gateway. */
async function put(body: string) {
  const gateway = await startGateway();
  const headers = { authorization: `Bearer ${gateway.adminKey}`, 'content-type': 'application/json' };
  const answer = await request(`${gateway.url}/budgets`, { method: 'PUT', headers, body });
  return { status: answer.status, body: answer.json() };
}

describe('PUT /v1/budgets', () => {
  test.each([
    ['0.0000001', 1e-7],
    ['1e-9', 1e-9],
    ['"0.000000001"', 1e-9],
    ['0.1', 0.1],
    ['1e6', 1_000_000],
  ])('accepts a cap of %s', async (cap, cap_usd) => {
    expect(await put(`{"cap_usd":${cap}}`)).toMatchObject({ status: 200, body: { cap_usd } });
  });

  test.each(['1e-10', '0.30000000000000004', '-1e-9', '1e7', '"1e-7"', 'true', 'null'])(
    'refuses a cap of %s and names the field',
    async (cap) => {
      expect(await put(`{"cap_usd":${cap}}`)).toMatchObject({
        status: 400,
        body: { error: { param: 'cap_usd', message: expect.stringMatching(/amount/) } },
      });
    },
  );

  test('refuses a body over the fixed limit, without naming a setting', async () => {
    const { status, body } = await put(`{"cap_usd":"${'0'.repeat(70_000)}"}`);
    expect([status, body]).toMatchObject([
      413,
      { error: { message: 'the body is larger than 65536 bytes' } },
    ]);
  });

  test.each([
    ['{}', 'cap_usd', /dollars/],
    ['[]', null, /JSON object/],
    ['{"cap_usd":5,"alert":80}', 'alert', /alert_percent/],
    ['{"cap_usd":5,"period":"yearly"}', 'period', /daily/],
    ['{"cap_usd":5,"period":"rolling"}', 'window_seconds', /window/],
    ['{"cap_usd":5,"period":"daily","window_seconds":3600}', 'window_seconds', /rolling/],
  ])('explains what is wrong with %s', async (body, param, message) => {
    expect(await put(body)).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', param, message: expect.stringMatching(message) } },
    });
  });
});

/** Blocks writes as a checkpoint does: the ledger's transactions wait, and any other fails. */
async function whileTheLogIsMoved(answer: (sources: Sources) => Promise<unknown>) {
  const path = await fileDatabase();
  const [db, thread] = await Promise.all([openDatabase(path, { busyTimeoutMs: 0 }), openDatabase(path)]);
  onTestFinished(() => {
    db.close();
    thread.close();
  });
  addProjects(db, 1);
  const world = createWorld();
  const { ledger } = startDaemon(db, world, 0);
  const { calendar } = world;
  const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
  await store(db, project, { period: 'daily', capNanoUsd: 5e9 }, { calendar, now: world.clock.now() });
  const caller = {
    ...{ keyId: 1, projectId: 1, project: 'p1', plan: 'pro' as const },
    ...{
      admin: true,
      paused: false,
      hasBudget: false,
      expiresAt: null,
      models: null,
      rpm: null,
      labels: null,
      isTeam: false,
    },
  };
  const gateway = {
    ledger,
    clock: world.clock,
    calendar: () => calendar,
    keptBodies: { folder: '' },
    replays: { folder: '' },
  };
  // The rest is not read.
  const options = { gateway, db, reload: async () => {} } as unknown as SourceOptions;
  const sources = createSources(options)(caller);
  const resume = ledger.pause();
  thread.exec('BEGIN IMMEDIATE');
  const answered = answer(sources);
  answered.catch(() => {});
  for (let turns = 0; turns < 10; turns++) await setImmediate();
  thread.exec('COMMIT');
  resume();
  return answered;
}

describe('during a checkpoint', () => {
  test('a list of budgets waits for it', async () => {
    expect(await whileTheLogIsMoved((sources) => budgets(sources, {}))).toMatchObject([
      { id: 'p1/daily', cap_usd: 5 },
    ]);
  });

  test('a change waits for it', async () => {
    expect(await whileTheLogIsMoved((sources) => setBudget(sources, { cap_usd: 7 }))).toMatchObject({
      id: 'p1/daily',
      cap_usd: 7,
    });
  });

  test('a removal waits for it', async () => {
    const named = { project: 'p1', period: 'daily' };
    expect(await whileTheLogIsMoved((sources) => removeBudget(sources, named))).toMatchObject({
      deleted: true,
    });
  });
});
