import { describe, expect, test } from 'vitest';
import { createProject, type Project } from '../../../src/store/accounts/projects.ts';
import { listBudgets, setBudget } from '../../../src/store/budgets/budgets.ts';
import { createDashboardReader, type DashboardQuery } from '../../../src/store/dashboard/reader.ts';
import { openDatabase } from '../../../src/store/database/open.ts';
import { inTransaction } from '../../../src/store/database/write.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { createRouterStateStore } from '../../../src/store/router/router-state.ts';
import { createEndpoints } from '../../../src/store/webhooks/endpoints.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import {
  admissionOf,
  createWorld,
  fileDatabase,
  NOON,
  openFast,
  recordOf,
  startDaemon,
} from '../../support/simulator.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ALL = { kind: 'all', text: '' } as const;

/** A store that a daemon writes to, and a reader on a connection of its own that cannot write. */
async function watched(options: { timezone?: string; startMs?: number } = {}) {
  const path = await fileDatabase();
  const db = await openFast(path);
  const world = createWorld(options);
  const { ledger, nextId, takeOver, sumNextHour } = startDaemon(db, world, 0);
  const { calendar, clock } = world;
  const reader = createDashboardReader(await openDatabase(path, { readonly: true }), calendar);
  /** Sums the hours that have ended by `before`. */
  async function sum(before: number) {
    await takeOver();
    while (await sumNextHour(before));
  }
  return {
    db,
    sum,
    ledger,
    nextId,
    clock,
    calendar,
    reader,
    read: (query: Partial<DashboardQuery> = {}) =>
      reader.read({ window: 'day', filter: ALL, now: clock.now(), ...query }),
    project: (name: string) => createProject(db, { name, now: clock.now() }),
    /** Runs a request to its end. */
    async spend(project: Project, costNanoUsd: number, fields: Parameters<typeof recordOf>[1] = {}) {
      const id = nextId();
      const record = recordOf(id, { projectId: project.id, costNanoUsd, ...fields });
      const blockedRecord = () => ({ ...record, status: 402, outcome: 'blocked' as const, costNanoUsd: 0 });
      const admission = admissionOf(id, costNanoUsd, { projectId: project.id, blockedRecord });
      const { kind } = await ledger.admit({ ...admission, askedModel: record.askedModel });
      if (kind === 'held') await ledger.settle(record);
      return id;
    },
  };
}

test('shows what runs, the longest first, until it ends', async () => {
  const { ledger, nextId, read, project, clock } = await watched();
  const web = await project('web');
  const [first, second] = [nextId(), nextId()];
  for (const id of [first, second]) await ledger.admit(admissionOf(id, 70, { projectId: web.id }));
  expect(read().running).toMatchObject([
    { id: first, timeMs: clock.now(), project: 'web', provider: 'openai', heldNanoUsd: 70 },
    { id: second, project: 'web' },
  ]);
  await ledger.settle(recordOf(first, { projectId: web.id, costNanoUsd: 5 }));
  expect(read().running.map(({ id }) => id)).toEqual([second]);
});

test('shows who waits for room, as the daemon noted it last, but not what a dead daemon left', async () => {
  const { db, read, project, clock } = await watched();
  const web = await project('web');
  const wait = (id: number, timeMs: number) => ({
    ...{ id, timeMs, projectId: web.id, provider: 'openai', model: 'gpt-4.1', agent: 'codex' },
    ...{ process: 'codex', repo: '', neededNanoUsd: 90 },
  });
  const { save } = createRouterStateStore(db);
  inTransaction(db, () => save('waiting', [wait(7, NOON + 1), wait(8, NOON)], clock.now()));
  expect(read().waiting).toMatchObject([
    { id: 8, timeMs: NOON, project: 'web', model: 'gpt-4.1', agent: 'codex', neededNanoUsd: 90 },
    { id: 7 },
  ]);
  expect(read({ now: clock.now() + 6_000 }).waiting).toEqual([]);
});

describe('budgets on a read-only connection', () => {
  test('stand as listBudgets tells, through holds, new periods and sliding windows', async () => {
    const { db, read, spend, project, ledger, nextId, clock, calendar } = await watched({
      timezone: 'Europe/Paris',
    });
    const web = await project('web');
    const agents = await project('agents');
    const context = () => ({ calendar, now: clock.now() });
    await setBudget(db, web, { period: 'daily', capNanoUsd: 1_000 }, context());
    await setBudget(db, web, { period: 'monthly', capNanoUsd: 5_000 }, context());
    await setBudget(db, agents, { period: 'rolling', capNanoUsd: 900, windowMs: HOUR_MS }, context());
    await ledger.admit(admissionOf(nextId(), 70, { projectId: web.id }));
    for (const hours of [0, 0.5, 0.7, 1.4, 11, 12, 13, 24 * 20]) {
      clock.set(NOON + hours * HOUR_MS);
      // Read before anything has rolled the budgets: the reader can't, and must tell the same.
      const seen = read().budgets;
      const told = await listBudgets(db, [agents.id, web.id], context());
      expect(seen.map(comparable)).toEqual(told.map(comparable));
      await spend(web, 100);
      await spend(agents, 40);
      expect(read().budgets.map(comparable)).toEqual(
        (await listBudgets(db, [agents.id, web.id], context())).map(comparable),
      );
    }
  });
});

type Told = Awaited<ReturnType<typeof listBudgets>>[number];
const comparable = ({ budget, posted, pending, resetsAt }: Told) => ({
  name: `${budget.projectName}/${budget.period}`,
  start: budget.period === 'rolling' ? 0 : budget.currentStart,
  posted,
  pending,
  resetsAt,
});

describe('the window', () => {
  test('adds up to the same by hour and by day, and ends where time has come to', async () => {
    const { read, spend, project, clock, sum } = await watched();
    const web = await project('web');
    for (const [hours, cost] of [
      [-30, 5],
      [-2, 10],
      [-1.5, 20],
      [0, 40],
    ] as const) {
      clock.set(NOON + hours * HOUR_MS);
      await spend(web, cost, { savedTokens: 3, savedNanoUsd: 1 });
    }
    // From the rollups alone, from both, and from the sums.
    for (const summed of [-100, -1, 100]) {
      await sum(NOON + summed * HOUR_MS);
      const day = read();
      expect(day.totals).toMatchObject({ requests: 3, costNanoUsd: 70, savedTokens: 9, savedNanoUsd: 3 });
      expect(day.series).toHaveLength(24);
      expect(day.series.slice(9, 14)).toEqual([0, 30, 0, 40, undefined]);
      for (const window of ['day', 'hour', 'month'] as const) {
        const { series, parts } = read({ window, by: 'project' });
        expect(parts).toEqual([{ name: 'web', series }]);
      }
      const month = read({ window: 'month' });
      expect(month.totals.costNanoUsd).toBe(75);
      expect(month.series.slice(9, 13)).toEqual([0, 5, 70, undefined]);
      expect(read({ window: 'hour' }).totals.costNanoUsd).toBe(40);
    }
  });

  test('shows the minutes of the running hour, late rows included', async () => {
    const { read, ledger, nextId, project, clock } = await watched();
    const web = await project('web');
    clock.set(NOON + 2 * MINUTE_MS);
    const slow = nextId();
    await ledger.admit(admissionOf(slow, 9, { projectId: web.id }));
    clock.set(NOON + 3 * MINUTE_MS);
    expect(read({ window: 'hour' }).series.slice(0, 5)).toEqual([0, 0, 0, 0, undefined]);
    clock.set(NOON + 20 * MINUTE_MS);
    await ledger.settle(recordOf(slow, { projectId: web.id, costNanoUsd: 9 }));
    expect(read({ window: 'hour' }).series.slice(0, 4)).toEqual([0, 0, 9, 0]);
    clock.set(NOON + 20 * MINUTE_MS + 1_000);
    await ledger.record(recordOf(nextId(), { projectId: web.id, costNanoUsd: 4 }));
    expect(read({ window: 'hour' }).series[20]).toBe(4);
  });

  test('names the dearest models first', async () => {
    const { read, spend, project } = await watched();
    const web = await project('web');
    await spend(web, 10, { model: 'small' });
    await spend(web, 90, { model: 'large', provider: 'anthropic' });
    await spend(web, 10, { model: 'small' });
    expect(read().models).toEqual([
      { provider: 'anthropic', model: 'large', requests: 1, costNanoUsd: 90 },
      { provider: 'openai', model: 'small', requests: 2, costNanoUsd: 20 },
    ]);
  });

  test('tells the latency of 95 of 100 requests', async () => {
    const { read, ledger, nextId, project } = await watched();
    const web = await project('web');
    expect(read().p95Ms).toBeNull();
    for (let i = 1; i <= 100; i++)
      await ledger.record(recordOf(nextId(), { projectId: web.id, durationMs: i }));
    expect(read().p95Ms).toBe(95);
  });
});

describe('the feed', () => {
  test('has the newest first, filtered by kind and by text', async () => {
    const { read, spend, project } = await watched();
    const web = await project('web');
    const ids = [
      await spend(web, 0, { model: 'claude-sonnet-4', askedModel: 'fast' }),
      await spend(web, 0, { outcome: 'upstream_error', status: 529, detail: { error: 'overloaded' } }),
      await spend(web, 0, { flags: FLAGS.unpriced, usage: { ...NO_USAGE, inputTokens: 7 } }),
    ];
    const found = (kind: DashboardQuery['filter']['kind'], text = '') =>
      read({ filter: { kind, text } }).requests.map(({ id }) => ids.indexOf(id));
    expect(found('all')).toEqual([2, 1, 0]);
    expect(found('failed')).toEqual([1]);
    expect(found('unpriced')).toEqual([2]);
    expect(found('blocked')).toEqual([]);
    expect(found('all', 'SONNET')).toEqual([0]);
    expect(found('all', 'fast')).toEqual([0]);
    expect(found('all', 'web')).toEqual([2, 1, 0]);
    expect(found('all', '%')).toEqual([]);
    expect(read({ filter: { kind: 'failed', text: '' } }).requests[0]?.error).toBe('overloaded');
    expect(read({ filter: { kind: 'all', text: '', limit: 2 } }).requests).toHaveLength(2);
  });

  test('says which budget refused a request, and counts refusals by budget', async () => {
    const { db, read, spend, project, clock, calendar } = await watched();
    const web = await project('web');
    await setBudget(db, web, { period: 'daily', capNanoUsd: 100 }, { calendar, now: clock.now() });
    await spend(web, 90);
    await spend(web, 20);
    expect(read().blocked).toMatchObject([{ budget: 'web/daily', count: 1 }]);
    clock.set(NOON + MINUTE_MS);
    await spend(web, 30, { askedModel: 'gpt-4.1' });
    expect(read().blocked).toEqual([
      { budget: 'web/daily', count: 2, firstAt: NOON, lastAt: NOON + MINUTE_MS, model: 'gpt-4.1' },
    ]);
    expect(read().requests.map(({ outcome, budget }) => [outcome, budget])).toEqual([
      ['blocked', 'web/daily'],
      ['blocked', 'web/daily'],
      ['ok', undefined],
    ]);
  });
});

describe('webhooks', () => {
  test('tell what failed and what waits, and never their URL', async () => {
    const { db, read, project, spend, clock, calendar } = await watched();
    const web = await project('web');
    const endpoints = createEndpoints(db, async (change) => inTransaction(db, change));
    await endpoints.create({
      projectId: web.id,
      url: 'https://hooks.slack.com/services/T0/B0/bearer-secret',
      format: 'json',
      events: ['budget.exceeded', 'budget.threshold_reached'],
      secret: 'signing-secret',
      now: NOON,
    });
    await setBudget(db, web, { period: 'daily', capNanoUsd: 100 }, { calendar, now: clock.now() });
    await spend(web, 100);
    expect(read().webhooks).toMatchObject([{ host: 'hooks.slack.com', failed: 0, open: 2, dueAt: NOON }]);
    db.exec(
      `UPDATE deliveries SET state = 'failed', finished_at = 1, attempts = 4, attempted_at = ${NOON}, status = 500`,
    );
    const { webhooks } = read();
    expect(webhooks).toMatchObject([
      { failed: 2, open: 0, status: 500, attemptedAt: NOON, disabledReason: null },
    ]);
    expect(JSON.stringify(webhooks)).not.toContain('secret');
  });
});

describe('changed()', () => {
  test('tells of what other connections write, once', async () => {
    const { reader, project } = await watched();
    expect(reader.changed()).toBe(true);
    expect(reader.changed()).toBe(false);
    await project('web');
    expect(reader.changed()).toBe(true);
    expect(reader.changed()).toBe(false);
  });
});

test('reads thousands of requests every five seconds, and says meanwhile that more is to come', async () => {
  const { read, project, spend, clock, reader } = await watched();
  const web = await project('web');
  for (let i = 0; i < 2_001; i++) void spend(web, 7, { provider: 'openai' });
  await spend(web, 7, { provider: 'openai' });
  const names = () => read().providers.map(({ provider }) => provider);
  expect([reader.changed(), names(), reader.changed()]).toEqual([true, ['openai'], false]);
  await spend(web, 7, { provider: 'mistral' });
  clock.set(clock.now() + 4_999);
  expect([reader.changed(), names()]).toEqual([true, ['openai']]);
  clock.set(clock.now() + 1);
  expect([reader.changed(), names(), reader.changed()]).toEqual([true, ['mistral', 'openai'], false]);
});
