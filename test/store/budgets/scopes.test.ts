import { describe, expect, test } from 'vitest';
import { removeBudget } from '../../../src/store/budgets/budgets.ts';
import { raiseBudget } from '../../../src/store/budgets/raise-budget.ts';
import { createStandingsReader } from '../../../src/store/dashboard/standings.ts';
import { budgetName } from '../../../src/store/ledger/terms.ts';
import { NOON } from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EACH_SESSION = { scope: { kind: 'each', value: 'session' } } as const;
const SESSION_A = { scope: { kind: 'session', value: 'a' } } as const;

const project = { id: 1, name: 'p1', plan: 'pro' as const, createdAt: 0, pausedAt: null };
const remove = (shop: Shop, scope: { kind: 'session' | 'each'; value: string }) =>
  removeBudget(shop.db, project, { period: 'daily', scope }, shop.clock.now());

async function spend(
  shop: Shop,
  amount: number,
  fields: { session?: string; agent?: string; keyId?: number },
) {
  const admitted = await shop.admit(amount, fields);
  if (admitted.kind === 'held') await shop.settle(admitted.id, amount, fields);
  return 'standing' in admitted
    ? [admitted.kind, budgetName(admitted.standing.budget)]
    : [admitted.kind, 'remaining' in admitted && admitted.remaining];
}

describe('a cap for each session', () => {
  test('holds each to its own cap, and requests without a session to none', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    expect(await spend(shop, 81, { session: 'a' })).toEqual(['held', 19]);
    expect(await spend(shop, 100, { session: 'b' })).toEqual(['held', 0]);
    expect(await spend(shop, 31, { session: 'a' })).toEqual(['blocked', 'p1/daily@session:a']);
    expect(await spend(shop, 999, {})).toEqual(['held', null]);
    expect(shop.news()).toEqual([
      'budget.threshold_reached',
      'budget.threshold_reached',
      'budget.exceeded',
      'budget.exceeded',
      'request.blocked',
    ]);
    checkDatabase(shop.db);
  });

  test('is listed as its fullest member, by the dashboard too', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    await spend(shop, 30, { session: 'a' });
    await spend(shop, 40, { session: 'b' });
    const expected = [{ posted: 40, pending: 0, fullest: 'b', budget: { scopeKind: 'each' } }];
    expect(await shop.standings()).toMatchObject(expected);
    const read = createStandingsReader(shop.db);
    expect(read({ calendar: shop.calendar, now: NOON })).toMatchObject(expected);
    shop.clock.set(NOON + DAY_MS);
    const [next] = await shop.standings();
    expect(next).toMatchObject({ posted: 0, pending: 0 });
    expect(next?.fullest).toBeUndefined();
    expect(read({ calendar: shop.calendar, now: NOON + DAY_MS })).toMatchObject([{ posted: 0 }]);
  });

  test('counts what sessions had spent and hold when it is set', async () => {
    const shop = await openShop();
    await spend(shop, 60, { session: 'a' });
    const running = await shop.admit(30, { session: 'a' });
    await shop.admit(20, { session: 'b' });
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    expect(await spend(shop, 11, { session: 'a' })).toEqual(['wait', 'p1/daily@session:a']);
    await shop.settle(running.id, 5, { session: 'a' });
    expect(await spend(shop, 35, { session: 'a' })).toEqual(['held', 0]);
    expect(await spend(shop, 80, { session: 'b' })).toEqual(['held', 0]);
    checkDatabase(shop.db);
  });

  test('gives way to a cap of its own, which keeps the spend, and comes back after it', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    await spend(shop, 100, { session: 'a' });
    expect(await shop.budget({ period: 'daily', capNanoUsd: 150, ...SESSION_A })).toMatchObject({
      posted: 100,
    });
    expect(await spend(shop, 20, { session: 'a' })).toEqual(['held', 30]);
    await remove(shop, SESSION_A.scope);
    expect(await spend(shop, 1, { session: 'a' })).toEqual(['blocked', 'p1/daily@session:a']);
    await shop.budget({ period: 'daily', capNanoUsd: 130, ...EACH_SESSION });
    expect(await spend(shop, 10, { session: 'a' })).toEqual(['held', 0]);
    await expect(remove(shop, SESSION_A.scope)).rejects.toMatchObject({ code: 'budget_not_found' });
    await remove(shop, EACH_SESSION.scope);
    expect(await spend(shop, 500, { session: 'a' })).toEqual(['held', null]);
    checkDatabase(shop.db);
  });
});

describe('the members of a cap for each', () => {
  const raise = (shop: Shop, forMs?: number) =>
    raiseBudget(
      shop.db,
      { budget: 'p1/daily@each:session', amountNanoUsd: 50, forMs },
      { calendar: shop.calendar, now: shop.clock.now() },
    );
  const raisesIn = (shop: Shop) => shop.db.prepare('SELECT count(*) FROM budget_raises').pluck().get();

  test('are raised with it for good, whether they have spent or not', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    await spend(shop, 100, { session: 'a' });
    shop.news();
    expect(await raise(shop)).toMatchObject({ posted: 100, budget: { capNanoUsd: 150, raisedUntil: null } });
    expect(shop.news()).toEqual([]);
    expect(await spend(shop, 40, { session: 'a' })).toEqual(['held', 10]);
    expect(await spend(shop, 140, { session: 'b' })).toEqual(['held', 10]);
    checkDatabase(shop.db);
  });

  test('fall back with it at the end of a raise, known or new, and tell so themselves', async () => {
    const shop = await openShop();
    const start = shop.clock.now();
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    await spend(shop, 90, { session: 'a' });
    await raise(shop, HOUR_MS);
    expect(await spend(shop, 50, { session: 'a' })).toEqual(['held', 10]);
    expect(await spend(shop, 120, { session: 'b' })).toEqual(['held', 30]);
    expect(await spend(shop, 20, { session: 'c' })).toEqual(['held', 130]);
    shop.clock.set(start + HOUR_MS);
    shop.news();
    expect(await spend(shop, 1, { session: 'a' })).toEqual(['blocked', 'p1/daily@session:a']);
    expect(shop.news()).toEqual(['budget.exceeded', 'request.blocked']);
    expect(await spend(shop, 1, { session: 'b' })).toEqual(['blocked', 'p1/daily@session:b']);
    expect(await spend(shop, 80, { session: 'c' })).toEqual(['held', 0]);
    expect(await spend(shop, 101, { session: 'd' })).toEqual(['blocked', 'p1/daily@session:d']);
    expect(await shop.standings()).toMatchObject([
      { posted: 140, budget: { capNanoUsd: 100, raisedNanoUsd: 0, raisedUntil: null } },
    ]);
    expect(raisesIn(shop)).toBe(0);
    checkDatabase(shop.db);
  });

  test('lose their raises when it is set anew, even to the cap that it had with them', async () => {
    const shop = await openShop();
    const start = shop.clock.now();
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    await spend(shop, 10, { session: 'a' });
    await raise(shop, HOUR_MS);
    await shop.budget({ period: 'daily', capNanoUsd: 150, ...EACH_SESSION });
    expect(raisesIn(shop)).toBe(0);
    shop.clock.set(start + HOUR_MS);
    expect(await spend(shop, 140, { session: 'a' })).toEqual(['held', 0]);
    expect(await spend(shop, 150, { session: 'b' })).toEqual(['held', 0]);
  });

  test('have its raise when a cap of their own goes', async () => {
    const shop = await openShop();
    const start = shop.clock.now();
    await shop.budget({ period: 'daily', capNanoUsd: 100, ...EACH_SESSION });
    await shop.budget({ period: 'daily', capNanoUsd: 10, ...SESSION_A });
    await raise(shop, HOUR_MS);
    expect(await spend(shop, 11, { session: 'a' })).toEqual(['blocked', 'p1/daily@session:a']);
    await remove(shop, SESSION_A.scope);
    expect(await spend(shop, 120, { session: 'a' })).toEqual(['held', 30]);
    shop.clock.set(start + HOUR_MS);
    expect(await spend(shop, 1, { session: 'a' })).toEqual(['blocked', 'p1/daily@session:a']);
  });

  test('send its several alerts, each once, and those that it has from now on', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'weekly', capNanoUsd: 100, alertPercents: [50, 80], ...EACH_SESSION });
    shop.news();
    for (const amount of [55, 5, 25]) await spend(shop, amount, { session: 'a' });
    await spend(shop, 60, { session: 'b' });
    const alert = 'budget.threshold_reached';
    expect(shop.news()).toEqual([alert, alert, alert]);
    await shop.budget({ period: 'weekly', capNanoUsd: 100, alertPercents: [50, 70, 95], ...EACH_SESSION });
    await spend(shop, 11, { session: 'a' });
    await spend(shop, 11, { session: 'b' });
    expect(shop.news()).toEqual([alert, alert]);
    checkDatabase(shop.db);
  });

  test('count all that they ever spent for a lifetime', async () => {
    const shop = await openShop();
    await spend(shop, 60, { session: 'a' });
    shop.clock.set(NOON + 40 * DAY_MS);
    await shop.budget({ period: 'lifetime', capNanoUsd: 100, ...EACH_SESSION });
    expect(await spend(shop, 41, { session: 'a' })).toEqual(['blocked', 'p1/lifetime@session:a']);
    expect(await spend(shop, 70, { session: 'b' })).toEqual(['held', 30]);
    shop.clock.set(NOON + 400 * DAY_MS);
    expect(await spend(shop, 31, { session: 'b' })).toEqual(['blocked', 'p1/lifetime@session:b']);
    expect(await shop.standings()).toMatchObject([{ posted: 70, fullest: 'b', resetsAt: Infinity }]);
    checkDatabase(shop.db);
  });
});

test('a cap counts one key, by its label or id, and a new key takes over its label', async () => {
  const shop = await openShop();
  const insert = shop.db.prepare(
    "INSERT INTO keys (id, project_id, hash, hint, label, admin, created_at) VALUES (?, 1, ?, 'hint', ?, 0, 0)",
  );
  insert.run(7, Buffer.from('7'), 'ci');
  insert.run(8, Buffer.from('8'), null);
  const { budget } = await shop.budget({
    period: 'daily',
    capNanoUsd: 100,
    scope: { kind: 'key', value: '7' },
  });
  expect(budgetName(budget)).toBe('p1/daily@key:ci');
  await shop.budget({ period: 'daily', capNanoUsd: 100, scope: { kind: 'each', value: 'key' } });
  expect(await spend(shop, 100, { keyId: 7 })).toEqual(['held', 0]);
  expect(await spend(shop, 60, { keyId: 8 })).toEqual(['held', 40]);
  expect(await spend(shop, 60, { keyId: 8 })).toEqual(['blocked', 'p1/daily@key:8']);
  expect(await spend(shop, 1, { keyId: 7 })).toEqual(['blocked', 'p1/daily@key:ci']);
  insert.run(9, Buffer.from('9'), 'ci');
  insert.run(10, Buffer.from('10'), '8');
  const nameOf = async (value: string) =>
    budgetName(
      (await shop.budget({ period: 'daily', capNanoUsd: 120, scope: { kind: 'key', value } })).budget,
    );
  // A label that two keys have, or that reads as an id, names none.
  expect([await nameOf('9'), await nameOf('10')]).toEqual(['p1/daily@key:9', 'p1/daily@key:10']);
  expect(await spend(shop, 120, { keyId: 9 })).toEqual(['held', 0]);
  shop.db.exec('UPDATE keys SET revoked_at = 1 WHERE id = 7');
  await removeBudget(shop.db, project, { period: 'daily', scope: { kind: 'key', value: '9' } }, NOON);
  expect(await nameOf('ci')).toBe('p1/daily@key:ci');
  expect(await spend(shop, 21, { keyId: 9 })).toEqual(['blocked', 'p1/daily@key:ci']);
  await removeBudget(shop.db, project, { period: 'daily', scope: { kind: 'key', value: 'ci' } }, NOON);
  expect(await spend(shop, 1, { keyId: 9 })).toEqual(['blocked', 'p1/daily@key:9']);
  checkDatabase(shop.db);
  await expect(
    shop.budget({ period: 'daily', capNanoUsd: 1, scope: { kind: 'key', value: 'nobody' } }),
  ).rejects.toThrow('project p1 has no key "nobody": use its label or id. See: gw keys list -p p1');
});

test('a cap counts one agent', async () => {
  const shop = await openShop();
  await shop.budget({ period: 'monthly', capNanoUsd: 50, scope: { kind: 'agent', value: 'codex' } });
  expect(await spend(shop, 60, { agent: 'claude' })).toEqual(['held', null]);
  expect(await spend(shop, 60, { agent: 'codex' })).toEqual(['blocked', 'p1/monthly@agent:codex']);
});
