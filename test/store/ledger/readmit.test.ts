import { describe, expect, test } from 'vitest';
import type { RequestId } from '../../../src/ids.ts';
import type { Readmission } from '../../../src/store/ledger/admission.ts';
import { getRequest } from '../../../src/store/requests/request-log.ts';
import { eventsOf, readmissionOf } from '../../support/simulator.ts';
import { checkDatabase } from '../../support/simulator-check.ts';
import { openShop, type Shop } from '../../support/simulator-shop.ts';

const DAY_MS = 86_400_000;

function again(shop: Shop, id: RequestId, amount: number, fields: Partial<Readmission> = {}) {
  return shop.daemon.ledger.readmit(readmissionOf(id, amount, fields));
}

describe('readmit()', () => {
  test('exchanges the hold for what was spent and the next worst case', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    expect(await again(shop, id, 60, { spent: 15 })).toEqual({ kind: 'held', amount: 75, remaining: 25 });
    expect((await shop.standings())[0]).toMatchObject({ posted: 0, pending: 75 });
    await shop.settle(id, 40);
    expect((await shop.standings())[0]).toMatchObject({ posted: 40, pending: 0 });
    checkDatabase(shop.db);
  });

  test('refuses what has no room, and keeps what was spent held', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    expect(await again(shop, id, 90, { spent: 15 })).toMatchObject({ kind: 'refused' });
    expect((await shop.standings())[0]).toMatchObject({ posted: 0, pending: 15 });
    expect(eventsOf(shop.db, 'request.blocked')).toEqual([]);
    await shop.settle(id, 15);
    expect((await shop.standings())[0]).toMatchObject({ posted: 15, pending: 0 });
  });

  test('blocks what has no other way to go on, but not where running requests hold the room', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const first = await shop.admit(50);
    const { id } = await shop.admit(30);
    expect(await again(shop, id, 80, { spent: 15, least: 80 })).toMatchObject({ kind: 'refused' });
    expect(eventsOf(shop.db, 'request.blocked')).toEqual([]);
    await shop.settle(first.id, 10);
    expect(await again(shop, id, 80, { spent: 15, least: 80 })).toMatchObject({ kind: 'refused' });
    expect(eventsOf(shop.db, 'request.blocked')).toMatchObject([
      { data: { estimated_cost_usd: 95e-9, spent_usd: 10e-9 } },
    ]);
    // A tenth of the cap is spent: this request was too large for the rest.
    expect(eventsOf(shop.db, 'budget.exceeded')).toEqual([]);
  });

  test('cuts the next attempt to what is left', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    const fitInto = (room: number) => (room >= 10 ? { amount: room } : undefined);
    expect(await again(shop, id, 90, { spent: 15, fitInto })).toEqual({
      kind: 'held',
      amount: 100,
      remaining: 0,
      fit: { amount: 85 },
    });
  });

  test('counts in the period that has begun meanwhile', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    shop.clock.set(shop.clock.now() + DAY_MS);
    await again(shop, id, 60, { spent: 15 });
    await shop.settle(id, 70);
    expect((await shop.standings())[0]).toMatchObject({ posted: 70, pending: 0 });
    const held = shop.db.prepare('SELECT sum(pending_nano_usd) FROM budget_periods').pluck();
    expect(held.get()).toBe(0);
  });

  test('refuses a price that nobody knows where there is a budget', async () => {
    const shop = await openShop();
    const { id } = await shop.admit(80);
    expect(await again(shop, id, 0, { unpriced: true })).toMatchObject({ kind: 'held', remaining: null });
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    expect(await again(shop, id, 0, { unpriced: true })).toMatchObject({ kind: 'refused' });
  });

  test('leaves a request alone that is settled', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(80);
    await shop.settle(id, 10);
    expect(await again(shop, id, 60)).toEqual({ kind: 'resolved_before' });
    expect((await shop.standings())[0]).toMatchObject({ posted: 10, pending: 0 });
  });

  test('loses nothing to a crash: what all attempts may have cost is booked', async () => {
    const shop = await openShop();
    await shop.budget({ period: 'daily', capNanoUsd: 100 });
    const { id } = await shop.admit(50);
    await again(shop, id, 40, { spent: 20 });
    expect(await shop.daemon.ledger.closeHolds(0)).toBe(1);
    expect((await shop.standings())[0]).toMatchObject({ posted: 60, pending: 0 });
    expect(await getRequest(shop.db, id)).toMatchObject({ outcome: 'crashed', costNanoUsd: 60 });
  });
});
