import { describe, expect, test } from 'vitest';
import { type Raise, raiseBudget } from '../../../src/store/budgets/raise-budget.ts';
import { createStandingsReader } from '../../../src/store/dashboard/standings.ts';
import { eventsOf, startDaemon } from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const HOUR_MS = 3_600_000;

function raise(shop: Shop, fields: Partial<Raise> = {}) {
  const context = { calendar: shop.calendar, now: shop.clock.now() };
  return raiseBudget(shop.db, { budget: 'p1/daily', amountNanoUsd: 50, ...fields }, context);
}

const capOf = async (shop: Shop) => (await shop.standings())[0]?.budget.capNanoUsd;

describe('raiseBudget()', () => {
  test('raises by the amount for good, and keeps the spend', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(100);
    expect((await shop.admit(40)).kind).toBe('blocked');
    expect(await raise(shop)).toMatchObject({ posted: 100, budget: { capNanoUsd: 150, raisedUntil: null } });
    expect((await shop.admit(40)).kind).toBe('held');
    checkDatabase(shop.db);
  });

  test('for a time falls back at that very time, whoever asks first', async () => {
    const shop = await openShop();
    const start = shop.clock.now();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(90);
    await raise(shop, { forMs: HOUR_MS });
    shop.clock.set(start + HOUR_MS - 1);
    const { id, kind } = await shop.admit(40);
    expect(kind).toBe('held');
    await shop.settle(id, 20);
    shop.clock.set(start + HOUR_MS);
    expect((await shop.admit(1)).kind).toBe('blocked');
    expect(await shop.standings()).toMatchObject([
      { posted: 110, budget: { capNanoUsd: 100, raisedNanoUsd: 0, raisedUntil: null } },
    ]);
    expect(shop.db.prepare('SELECT count(*) FROM budget_raises').pluck().get()).toBe(0);
    checkDatabase(shop.db);
  });

  test('lets what is held at its end settle, and tells that the cap is reached', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(70);
    await raise(shop, { forMs: HOUR_MS });
    const { id } = await shop.admit(80);
    shop.clock.set(shop.clock.now() + HOUR_MS);
    shop.news();
    await shop.settle(id, 80);
    expect(shop.news()).toEqual(['budget.threshold_reached', 'budget.exceeded']);
    expect((await shop.standings())[0]).toMatchObject({
      posted: 150,
      pending: 0,
      budget: { capNanoUsd: 100 },
    });
  });

  test('tells at its end that the cap is used up, without a request', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await raise(shop, { forMs: HOUR_MS });
    await shop.spend(130);
    expect(shop.news()).toEqual(['budget.threshold_reached']);
    shop.clock.set(shop.clock.now() + HOUR_MS);
    await shop.daemon.ledger.roll();
    await shop.daemon.ledger.roll();
    expect(shop.news()).toEqual(['budget.exceeded']);
    expect(eventsOf(shop.db, 'budget.exceeded')[0]?.data).toMatchObject({ spent_usd: 1.3e-7, cap_usd: 1e-7 });
  });

  test('survives a restart: a daemon that starts after the end falls back', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await raise(shop, { forMs: HOUR_MS });
    shop.clock.set(shop.clock.now() + HOUR_MS - 1);
    const first = startDaemon(shop.db, shop, 1);
    expect((await first.ledger.standings(1))[0]?.budget.capNanoUsd).toBe(150);
    shop.clock.set(shop.clock.now() + 1);
    const second = startDaemon(shop.db, shop, 2);
    expect((await second.ledger.standings(1))[0]?.budget.capNanoUsd).toBe(100);
  });

  test('adds up, and each raise ends on its own', async () => {
    const shop = await openShop();
    const start = shop.clock.now();
    await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: 24 * HOUR_MS });
    await raise(shop, { budget: 'p1/rolling', forMs: 2 * HOUR_MS });
    await raise(shop, { budget: 'p1/rolling', forMs: HOUR_MS, amountNanoUsd: 7 });
    await raise(shop, { budget: 'p1/rolling', amountNanoUsd: 1 });
    expect((await shop.standings())[0]?.budget).toMatchObject({
      capNanoUsd: 158,
      raisedNanoUsd: 57,
      raisedUntil: start + HOUR_MS,
    });
    shop.clock.set(start + HOUR_MS);
    expect(await capOf(shop)).toBe(151);
    shop.clock.set(start + 2 * HOUR_MS);
    expect(await capOf(shop)).toBe(101);
  });

  test('ends when the cap is set anew', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await raise(shop, { forMs: HOUR_MS });
    await shop.budget({ period: 'daily', capNanoUsd: 60 });
    shop.clock.set(shop.clock.now() + HOUR_MS);
    expect(await capOf(shop)).toBe(60);
  });

  test('is refused for an unknown budget and for amounts and times out of bounds', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    for (const [fields, message] of [
      [{ budget: 'p1/weekly' }, 'no budget "p1/weekly"'],
      [{ budget: 'nobody/daily' }, 'no project "nobody"'],
      [{ amountNanoUsd: 0 }, 'more than $0'],
      [{ amountNanoUsd: 1e15 }, 'with the raise it would have more than'],
      [{ forMs: 1_000 }, 'lasts from a minute'],
    ] as const)
      await expect(raise(shop, fields)).rejects.toThrow(message);
    expect(await capOf(shop)).toBe(100);
  });
});

describe('several alerts', () => {
  const told = (shop: Shop) =>
    eventsOf(shop.db, 'budget.threshold_reached').map(({ data }) => data.alert_percent);

  test.each([
    ['daily', undefined],
    ['rolling', HOUR_MS],
  ] as const)('of a %s budget are each sent once a period', async (period, windowMs) => {
    const shop = await openShop();
    const window = windowMs === undefined ? {} : { windowMs };
    await shop.budget({ period, ...window, capNanoUsd: 100, alertPercents: [95, 50, 80] });
    for (const amount of [49, 1, 29, 1, 10]) await shop.spend(amount);
    expect(told(shop)).toEqual([50, 80]);
    await shop.spend(10);
    expect(told(shop)).toEqual([50, 80, 95]);
    expect(shop.news().at(-1)).toBe('budget.exceeded');
    shop.clock.set(shop.clock.now() + 24 * HOUR_MS);
    await shop.spend(81);
    expect(told(shop)).toEqual([50, 80, 95, 50, 80]);
  });

  test.each([
    ['daily', undefined],
    ['rolling', HOUR_MS],
  ] as const)(
    'of a %s budget are not sent again for another cap that they are still above',
    async (period, windowMs) => {
      const shop = await openShop();
      const terms = { period, alertPercents: [50, 80], ...(windowMs === undefined ? {} : { windowMs }) };
      await shop.budget({ ...terms, capNanoUsd: 100 });
      await shop.spend(60);
      expect(told(shop)).toEqual([50]);
      await shop.budget({ ...terms, capNanoUsd: 110 });
      expect(told(shop)).toEqual([50]);
      await shop.budget({ ...terms, capNanoUsd: 75 });
      expect(told(shop)).toEqual([50, 80]);
      await shop.budget({ ...terms, capNanoUsd: 200 });
      await shop.spend(40);
      expect(told(shop)).toEqual([50, 80, 50]);
    },
  );

  test('survive a restart', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100, alertPercents: [50, 80] });
    await shop.spend(55);
    const daemon = startDaemon(shop.db, shop, 1);
    await daemon.ledger.roll();
    await shop.spend(5);
    expect(told(shop)).toEqual([50]);
  });
});

test('a lifetime budget counts all that the project ever spent, and never starts again', async () => {
  const shop = await openShop();
  await shop.spend(30);
  shop.clock.set(shop.clock.now() + 400 * 24 * HOUR_MS);
  const standing = await shop.budget({ period: 'lifetime', capNanoUsd: 100 });
  expect(standing).toMatchObject({ posted: 30, resetsAt: Number.POSITIVE_INFINITY });
  shop.clock.set(shop.clock.now() + 400 * 24 * HOUR_MS);
  await shop.spend(60);
  expect((await shop.admit(20)).kind).toBe('blocked');
  checkDatabase(shop.db);
});

test('a weekly budget counts what was spent since Monday', async () => {
  const shop = await openShop({ timezone: 'UTC', startMs: Date.UTC(2026, 2, 8, 23, 59) });
  await shop.spend(1_000);
  shop.clock.set(Date.UTC(2026, 2, 9, 0));
  await shop.spend(20);
  shop.clock.set(Date.UTC(2026, 2, 12));
  expect(await shop.budget({ period: 'weekly', capNanoUsd: 100 })).toMatchObject({
    posted: 20,
    resetsAt: Date.UTC(2026, 2, 16),
  });
  expect(createStandingsReader(shop.db)({ calendar: shop.calendar, now: shop.clock.now() })).toMatchObject([
    { posted: 20, resetsAt: Date.UTC(2026, 2, 16) },
  ]);
});
