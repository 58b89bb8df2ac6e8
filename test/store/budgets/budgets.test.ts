import { describe, expect, test } from 'vitest';
import { listBudgets, thresholdOf } from '../../../src/store/budgets/budgets.ts';
import { NOON } from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop } from '../../support/simulator-shop.ts';

const DAY_MS = 86_400_000;

describe('setBudget()', () => {
  test('makes one budget of each period, with an alert at 80 percent', async () => {
    const shop = await openShop();
    const standing = await shop.budget({ period: 'daily', capNanoUsd: 100 });
    expect(standing).toMatchObject({
      budget: { projectName: 'p1', period: 'daily', capNanoUsd: 100, alertPercent: 80 },
      posted: 0,
      pending: 0,
      resetsAt: Date.UTC(2026, 4, 13),
    });
    await shop.budget({ period: 'daily', capNanoUsd: 200 });
    expect(await shop.standings()).toHaveLength(1);
  });

  test('counts what the project spent in the running period before', async () => {
    const shop = await openShop();
    shop.clock.set(NOON - DAY_MS);
    await shop.spend(1_000);
    shop.clock.set(NOON);
    await shop.spend(30);
    const daily = await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const monthly = await shop.budget({ period: 'monthly', capNanoUsd: 2_000 });
    const rolling = await shop.budget({ period: 'rolling', capNanoUsd: 100, windowMs: 3_600_000 });
    expect([daily.posted, monthly.posted, rolling.posted]).toEqual([30, 1_030, 30]);
  });

  test('counts what running requests hold, and what they come to cost', async () => {
    const shop = await openShop();
    const running = await shop.admit(70);
    const daily = await shop.budget({ period: 'daily', capNanoUsd: 100 });
    expect([daily.posted, daily.pending]).toEqual([0, 70]);
    expect(await shop.admit(40)).toMatchObject({ kind: 'wait' });
    checkDatabase(shop.db);
    await shop.settle(running.id, 65);
    expect((await shop.standings())[0]).toMatchObject({ posted: 65, pending: 0 });
    expect(await shop.admit(40)).toMatchObject({ kind: 'blocked' });
  });

  test('forgets nothing when a budget is removed and set again', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(30);
    const { id } = await shop.admit(40);
    await shop.removeBudget('daily');
    expect(await shop.budget({ period: 'daily', capNanoUsd: 100 })).toMatchObject({
      posted: 30,
      pending: 40,
    });
    await shop.settle(id, 40);
    expect((await shop.standings())[0]).toMatchObject({ posted: 70, pending: 0 });
    checkDatabase(shop.db);
  });

  test('does not count requests of an earlier period that still run', async () => {
    const shop = await openShop();
    await shop.admit(70);
    shop.clock.set(NOON + DAY_MS);
    expect((await shop.budget({ period: 'daily', capNanoUsd: 100 })).pending).toBe(0);
    expect((await shop.budget({ period: 'monthly', capNanoUsd: 100 })).pending).toBe(70);
  });

  test('tells at once of a threshold and a cap that earlier spend has reached', async () => {
    const shop = await openShop();
    await shop.spend(90);
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    expect(shop.news()).toEqual(['budget.threshold_reached']);
    await shop.budget({ period: 'monthly', capNanoUsd: 90 });
    expect(shop.news()).toEqual(['budget.threshold_reached', 'budget.exceeded']);
  });

  test('keeps the spend when the cap changes', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(60);
    expect(await shop.budget({ period: 'daily', capNanoUsd: 200 })).toMatchObject({ posted: 60 });
    expect(await shop.budget({ period: 'daily', capNanoUsd: 50 })).toMatchObject({ posted: 60 });
    expect(await shop.admit(1)).toMatchObject({ kind: 'blocked' });
  });

  test('tells of the threshold again only when the new cap has it newly crossed', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(85);
    shop.news();
    await shop.budget({ period: 'daily', capNanoUsd: 101 });
    expect(shop.news()).toEqual([]);
    await shop.budget({ period: 'daily', capNanoUsd: 200 });
    await shop.spend(74);
    expect(shop.news()).toEqual([]);
    await shop.spend(1);
    expect(shop.news()).toEqual(['budget.threshold_reached']);
  });

  test('does not tell again of a reached cap when only the alert changes', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(100);
    shop.news();
    await shop.budget({ period: 'daily', capNanoUsd: 100, alertPercent: 90 });
    expect(shop.news()).toEqual([]);
  });

  test('changes nothing when it is set as it is', async () => {
    const shop = await openShop();
    const first = await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(100);
    shop.news();
    const second = await shop.budget({ period: 'daily', capNanoUsd: 100 });
    expect(second.budget.capVersion).toBe(first.budget.capVersion);
    expect(shop.news()).toEqual([]);
  });

  test.each([
    [{ period: 'daily', capNanoUsd: -1 }, 'a cap is an amount'],
    [{ period: 'daily', capNanoUsd: 0.5 }, 'a cap is an amount'],
    [{ period: 'daily', capNanoUsd: 1e15 + 1 }, 'a cap is an amount'],
    [{ period: 'daily', capNanoUsd: 1, alertPercent: 0 }, 'alert percentage 0'],
    [{ period: 'daily', capNanoUsd: 1, alertPercent: 101 }, 'alert percentage 101'],
    [{ period: 'rolling', capNanoUsd: 1 }, 'window of a rate'],
    [{ period: 'rolling', capNanoUsd: 1, windowMs: 59_999 }, 'window of a rate'],
  ] as const)('refuses %j', async (settings, message) => {
    const shop = await openShop();
    await expect(shop.budget(settings)).rejects.toThrow(message);
    expect(await shop.standings()).toEqual([]);
  });
});

describe('listBudgets()', () => {
  test('shows budgets in the period that is running', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    await shop.spend(60);
    const context = { calendar: shop.calendar, now: NOON + DAY_MS };
    expect(await listBudgets(shop.db, [1, 2], context)).toMatchObject([{ posted: 0 }]);
  });
});

describe('removeBudget()', () => {
  test('lets requests pass that the budget would have refused', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 0 });
    await shop.removeBudget('daily');
    expect(await shop.admit(5)).toMatchObject({ kind: 'held', remaining: null });
  });

  test('says so when there is none', async () => {
    const shop = await openShop();
    await expect(shop.removeBudget('monthly')).rejects.toMatchObject({
      status: 404,
      message: 'no budget "p1/monthly". See: gw budget list',
    });
  });
});

describe('thresholdOf()', () => {
  test('is the least amount of at least that share, for caps of any size', () => {
    for (const cap of [0, 1, 99, 12_345, 999_999_999_999_999, 1e15, 123_456_789_012_345]) {
      for (let alertPercent = 1; alertPercent <= 100; alertPercent++) {
        const exact = (BigInt(cap) * BigInt(alertPercent) + 99n) / 100n;
        expect(thresholdOf({ capNanoUsd: cap, alertPercent })).toBe(Number(exact));
      }
    }
  });
});
