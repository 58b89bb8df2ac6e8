import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createCallerLookup, hashKey } from '../../../src/store/accounts/callers.ts';
import { removeBudget, setBudget } from '../../../src/store/budgets/budgets.ts';
import { deadRuns, endRun, openRun, readRunUsage } from '../../../src/store/budgets/runs.ts';
import { acquireLock } from '../../../src/store/database/lock.ts';
import { budgetName } from '../../../src/store/ledger/terms.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import { NOON, temporaryDirectory } from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const HOUR_MS = 3_600_000;

function open(shop: Shop, id: string, ...caps: Parameters<typeof openRun>[1]['caps']) {
  return openRun(shop.db, { id, projectId: 1, caps, lockPath: '/none', now: shop.clock.now() });
}

test("a run's budget counts the requests with its key, whatever the day, and no others", async () => {
  const shop = await openShop();
  await shop.budget({ period: 'daily', capNanoUsd: 1_000 });
  const { keyId } = await open(shop, 'run_a', { capNanoUsd: 100 });
  const other = await open(shop, 'run_b', { capNanoUsd: 100 });

  const first = await shop.admit(60, { keyId });
  expect(first).toMatchObject({ kind: 'held', remaining: 40 });
  expect(await shop.admit(60, { keyId: other.keyId })).toMatchObject({ kind: 'held', remaining: 40 });
  expect(await shop.admit(60, { keyId: 9 })).toMatchObject({ kind: 'held', remaining: 820 });
  await shop.settle(first.id, 60, { keyId });

  shop.clock.set(NOON + 48 * HOUR_MS);
  const refused = await shop.admit(50, { keyId });
  expect(refused).toMatchObject({
    kind: 'blocked',
    standing: { posted: 60, resetsAt: Number.POSITIVE_INFINITY },
  });
  expect('standing' in refused && budgetName(refused.standing.budget)).toBe('p1/run@run_a');
  expect(await shop.admit(40, { keyId })).toMatchObject({ kind: 'held', remaining: 0 });
  checkDatabase(shop.db);
});

test('a run may have a cap in a sliding window too', async () => {
  const shop = await openShop();
  const { keyId } = await open(shop, 'run_a', { capNanoUsd: 100 }, { capNanoUsd: 50, windowMs: HOUR_MS });
  expect((await shop.standings()).map(({ budget }) => budgetName(budget))).toEqual([
    'p1/run@run_a',
    'p1/rolling@run_a',
  ]);
  const first = await shop.admit(50, { keyId });
  await shop.settle(first.id, 50, { keyId });
  expect(await shop.admit(20, { keyId })).toMatchObject({ kind: 'blocked' });
  shop.clock.set(NOON + 2 * HOUR_MS);
  expect(await shop.admit(50, { keyId })).toMatchObject({ kind: 'held', remaining: 0 });
});

test('a run that ends takes its key and its budgets along, and open holds settle', async () => {
  const shop = await openShop();
  const daily = await shop.budget({ period: 'daily', capNanoUsd: 1_000 });
  const { key, keyId } = await open(shop, 'run_a', { capNanoUsd: 100 });
  const lookup = createCallerLookup(shop.db);
  expect(lookup(hashKey(key))).toMatchObject({ keyId, hasBudget: true });
  const { id } = await shop.admit(70, { keyId });

  endRun(shop.db, 'run_a', shop.clock.now());
  expect(lookup(hashKey(key))).toBeUndefined();
  expect((await shop.standings()).map(({ budget }) => budget.id)).toEqual([daily.budget.id]);
  await shop.settle(id, 65, { keyId });
  expect((await shop.standings())[0]).toMatchObject({ posted: 65, pending: 0 });
  checkDatabase(shop.db);
});

test('events of a run carry its name, and the alert comes first', async () => {
  const shop = await openShop();
  const { keyId } = await open(shop, 'run_a', { capNanoUsd: 100, alertPercent: 50 });
  const { id } = await shop.admit(85, { keyId });
  await shop.settle(id, 85, { keyId });
  await shop.admit(50, { keyId, small: 50 });
  expect(shop.news()).toEqual(['budget.threshold_reached', 'budget.exceeded', 'request.blocked']);
});

test("the cap of a running run can be changed; budgets of the project's own stay apart", async () => {
  const shop = await openShop();
  const { keyId } = await open(shop, 'run_a', { capNanoUsd: 100 }, { capNanoUsd: 90, windowMs: HOUR_MS });
  await shop.budget({ period: 'rolling', capNanoUsd: 1_000, windowMs: HOUR_MS });
  expect(await shop.standings()).toHaveLength(3);
  const scope = { kind: 'run', value: 'run_a' } as const;
  const raised = await shop.budget({ period: 'lifetime', capNanoUsd: 200, scope });
  expect(raised.budget).toMatchObject({ capNanoUsd: 200, keyId, capVersion: 2 });
  const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
  await removeBudget(shop.db, project, { period: 'rolling' }, shop.clock.now());
  expect((await shop.standings()).map(({ budget }) => budget.scopeValue)).toEqual(['run_a', 'run_a']);
  await expect(
    setBudget(
      shop.db,
      project,
      { period: 'lifetime', capNanoUsd: 1, scope: { kind: 'run', value: 'run_x' } },
      { calendar: shop.calendar, now: shop.clock.now() },
    ),
  ).rejects.toMatchObject({ status: 404, message: 'no budget "p1/run@run_x". See: gw budget list' });
});

test('a run whose lock is free is dead', async () => {
  const shop = await openShop();
  const folder = temporaryDirectory();
  const start = (id: string) =>
    openRun(shop.db, { id, projectId: 1, caps: [{ capNanoUsd: 1 }], lockPath: join(folder, id), now: NOON });
  const lock = acquireLock(join(folder, 'run_alive'));
  onTestFinished(() => lock?.release());
  writeFileSync(join(folder, 'run_killed'), '');
  for (const id of ['run_alive', 'run_killed', 'run_gone']) await start(id);
  expect(deadRuns(shop.db)).toEqual(['run_killed', 'run_gone']);
});

test('the usage of a run is that of its key', async () => {
  const shop = await openShop();
  const { keyId } = await open(shop, 'run_a', { capNanoUsd: 100 });
  const { id } = await shop.admit(60, { keyId });
  await shop.admit(10, { keyId });
  const usage = { inputTokens: 200, cachedInputTokens: 150, outputTokens: 7 };
  await shop.settle(id, 60, { keyId, usage: { ...NO_USAGE, ...usage } });
  const other = await shop.admit(5, { keyId: 9 });
  await shop.settle(other.id, 5, { keyId: 9 });
  expect(readRunUsage(shop.db, { keyId, since: 0 })).toEqual({
    ...{ requests: 1, refused: 0, running: 1, costNanoUsd: 60 },
    ...usage,
  });
});

test('a bad cap makes neither a key nor a run', async () => {
  const shop = await openShop();
  await expect(open(shop, 'run_a', { capNanoUsd: 1, alertPercent: 0 })).rejects.toMatchObject({
    status: 400,
  });
  expect(shop.db.prepare('SELECT count(*) FROM keys').pluck().get()).toBe(0);
});
